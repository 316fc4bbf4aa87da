"""Faults in what the waiting room's pages do, with scripts and without."""

from __future__ import annotations

from tests.mutants.mutant import In, Kind, Mutant

PAGE = "tests/browser/test_room_page.py"
TURN = "tests/browser/test_your_turn.py"
LINE = "tests/gateway/room/test_line.py"
room = In("gateway/pages/static/core/room.js")
roomline = In("gateway/pages/static/core/roomline.js")
sale = In("gateway/pages/static/core/sale.js")
asking = In("gateway/pages/static/core/asking.js")
app = In("gateway/pages/static/views/app.js")
yourturn = In("gateway/pages/static/core/yourturn.js")
line = In("gateway/pages/line.py")
plain = In("gateway/pages/plain_html.py")

MUTANTS: list[Mutant] = [
    room(
        Kind.CONDITION,
        "what is filed is asked for until it is told",
        "    this.asking.watch();\n    this.#askForWish();\n",
        "    this.asking.watch();\n",
        "tests/browser/test_room_page.py::test_what_is_filed_is_asked_for_until_it_is_told",
    ),
    room(
        Kind.EXPIRY,
        "only the server's clock counts in the waiting room",
        "    return performance.now() + this.offset_ms;",
        "    return Date.now();",
        f"{PAGE}::test_only_the_servers_clock_counts",
    ),
    roomline(
        Kind.BOUND,
        "milestones on the way are said and not each step",
        "  if (before === null || now >= before) return null;\n",
        "  if (before !== null && now < before) return 3;\n",
        f"{PAGE}::test_milestones_are_said_and_not_each_step",
    ),
    room(
        Kind.ASK_AGAIN,
        "what became of a ballot's wish is said after a reload too",
        "not_had: isInside ? null : not_had, back",
        "not_had: null, back",
        f"{PAGE}::test_a_wish_that_could_not_be_had_is_said_and_is_still_said_after_a_reload",
    ),
    asking(
        Kind.SNAPSHOT,
        "a ballot's refusal needs no map, which who waits does not have",
        'if (id === BALLOT && outcome === "sold_out")',
        'if (id === "" && outcome === "sold_out")',
        f"{PAGE}::test_a_wish_that_could_not_be_had_is_said_and_is_still_said_after_a_reload",
    ),
    app(
        Kind.SNAPSHOT,
        "who uses the keyboard is nowhere lost between the line and the seats",
        "if (!topic && this.topic && document.activeElement === document.body)",
        "if (false)",
        f"{PAGE}::test_by_the_keyboard_alone",
    ),
    yourturn(
        Kind.BOUND,
        "the browser tells of a turn only who looks elsewhere",
        "if (!was_there || !document.hidden || ",
        "if (!was_there || ",
        f"{TURN}::test_who_looks_at_the_page_is_not_told_by_the_browser",
    ),
    yourturn(
        Kind.ASK_AGAIN,
        "the browser tells of a turn once",
        "if (!was_there || !document.hidden || ",
        "if (!document.hidden || ",
        f"{TURN}::test_who_asked_for_it_is_told_once_while_they_look_elsewhere",
    ),
    sale(
        Kind.BOUND,
        "who waits does not follow each seat",
        "watch: (this.watches = this.room.isInside)",
        "watch: (this.watches = true)",
        f"{PAGE}::test_from_the_lobby_to_a_seat",
    ),
    line(
        Kind.ORIGIN,
        "a form of another site does nothing in the waiting room",
        '    if not (allowed if act == "come" else same):',
        "    if False:",
        f"{LINE}::test_forms_of_other_sites_are_refused_and_so_is_who_nobody_knows",
    ),
    line(
        Kind.ORIGIN,
        "who a plain page's buyer is stays out of scripts' sight",
        "        httponly=True,\n",
        "",
        f"{LINE}::test_the_cookie_is_kept_from_scripts_and_other_sites",
    ),
    plain(
        Kind.CONDITION,
        "an organiser's text is no markup on a plain page",
        "        return escape(self.bare(code, **values))\n",
        "        return self.bare(code, **values)\n",
        f"{LINE}::test_what_others_wrote_is_text_and_no_markup",
    ),
]
