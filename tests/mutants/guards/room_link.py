"""Faults in how the waiting room's page proves and how it is told, whatever the network lets through."""

from __future__ import annotations

from tests.mutants.mutant import In, Kind, Mutant

PROOF = "tests/browser/test_proof.py"
WAYS = "tests/browser/test_room_ways.py"
ways = In("gateway/pages/static/core/ways.js")
waychoice = In("gateway/pages/static/core/waychoice.js")
detour = In("gateway/pages/static/core/detour.js")
news = In("gateway/pages/static/core/news.js")
proving = In("gateway/pages/static/core/proving.js")
proof = In("gateway/pages/static/core/proof.js")
asking = In("gateway/pages/static/core/roomasking.js")

MUTANTS: list[Mutant] = [
    proving(
        Kind.BOUND,
        "a proof that nobody wants any more is not worked for in a worker",
        "    this.worker?.terminate();\n    this.found(solution);\n",
        "    this.found(solution);\n",
        f"{PROOF}::test_who_does_not_want_it_any_more_stops_it_and_may_begin_anew",
    ),
    proof(
        Kind.BOUND,
        "a proof that nobody wants any more is not worked for in the page",
        "first < TRIES_MAX && wanted();",
        "first < TRIES_MAX;",
        f"{PROOF}::test_where_workers_are_missing_it_stops_too",
    ),
    asking(
        Kind.BOUND,
        "one join proves a few times and not for ever",
        " && now.proofs < PROOFS_MAX",
        "",
        f"{PROOF}::test_a_proof_that_was_refused_is_found_anew_but_not_for_ever",
    ),
    ways(
        Kind.DEDUPE,
        "a socket that is greeted is the only way",
        "    this.detour.close();\n    this.tries = 0;\n",
        "    this.tries = 0;\n",
        f"{WAYS}::test_a_socket_that_gets_through_again_is_the_only_way",
    ),
    waychoice(
        Kind.CONDITION,
        "a gateway that closes sockets is no network that blocks them",
        'if (happened === "heard" || happened === "closed") return',
        'if (happened === "heard") return',
        f"{WAYS}::test_which_way_is_taken",
    ),
    waychoice(
        Kind.CONDITION,
        "a gateway that is away is no network that blocks its sockets",
        'if (happened === "greeted" || happened === "away") return SOCKET;',
        'if (happened === "greeted") return SOCKET;',
        f"{WAYS}::test_which_way_is_taken",
    ),
    detour(
        Kind.CONDITION,
        "an answer from before an act does not take the act back",
        "place?.status === 200 && !older",
        "place?.status === 200",
        f"{WAYS}::test_an_answer_from_before_what_was_done_is_not_believed",
    ),
    detour(
        Kind.BOUND,
        "who asks for news asks for the place only where there is some",
        "if (room.status === 200 || !this.place) await",
        "await",
        f"{WAYS}::test_who_asks_is_answered_with_what_is_new_and_nothing_else",
    ),
    detour(
        Kind.CONDITION,
        "an answer that news have overtaken does not take them back",
        'told?.type === "place" && overtaken',
        "false",
        f"{WAYS}::test_an_answer_that_news_have_overtaken_takes_nothing_back",
    ),
    In("gateway/pages/static/core/room.js")(
        Kind.CONDITION,
        "a place that was asked for before news of it came does not take them back",
        "place !== undefined && tellings === this.tellings",
        "place !== undefined",
        "tests/browser/test_room_page.py::test_an_answer_that_news_have_overtaken_takes_nothing_back",
    ),
    In("gateway/pages/static/core/link.js")(
        Kind.CONDITION,
        "what is said on a socket that is ending did not go out",
        "!this.live || this.socket.readyState !== WebSocket.OPEN",
        "!this.live",
        "tests/browser/test_connection.py::"
        "test_what_is_said_when_the_other_end_has_said_goodbye_went_nowhere",
    ),
    detour(
        Kind.TOKEN,
        "whose sign-in ended is told so on the way around too",
        "    if (status === 401) return this.#refuse(TOKEN_REFUSED);\n",
        "",
        f"{WAYS}::test_a_sign_in_that_ended_ends_it_there_too",
    ),
    news(
        Kind.BOUND,
        "who is far away asks more rarely, and not too rarely for a turn",
        "Math.min(FAR_SECONDS_MAX, Math.max(USUAL_SECONDS, minutes))",
        "Math.max(USUAL_SECONDS, minutes)",
        f"{WAYS}::test_who_is_far_away_asks_more_rarely",
    ),
]
