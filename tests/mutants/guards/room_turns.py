"""Faults in more time to begin and to shop: in Postgres, at the gateway, on the page."""

from __future__ import annotations

from tests.mutants.mutant import In, Kind, Mutant

MORE = "tests/store/room/test_more_time.py"
PAGE = "tests/browser/test_more_time.py"
OVER_THE_GATEWAY = "tests/gateway/room/test_more_time.py"
ADMITTED = "   AND state IN ('waiting', 'admitted') AND state || '' = 'admitted'\n"
entering = In("store/room/entering.py")
joining = In("store/room/joining.py")
acting = In("gateway/room/acting.py")
roomtime = In("gateway/pages/static/core/roomtime.js")
room = In("gateway/pages/static/core/room.js")
moretime = In("gateway/pages/static/views/moretime.js")
document = In("gateway/room/document.py")

MUTANTS: list[Mutant] = [
    entering(
        Kind.DEDUPE,
        "an act that is repeated gives more time once",
        "   AND floor(extract(epoch FROM coalesce(until, begin_by)) * 1000) = %(end)s AND {DUE} > run_by\n",
        "   AND {DUE} > run_by\n",
        f"{MORE}::test_an_act_that_is_repeated_gives_nothing_twice",
    ),
    entering(
        Kind.EXPIRY,
        "a time that is over is not made longer",
        "= %(end)s AND {DUE} > run_by\n",
        "= %(end)s\n",
        f"{MORE}::test_a_time_that_is_over_is_not_made_longer",
    ),
    entering(
        Kind.PAUSE,
        "what ran when the sale was paused can be made longer",
        "SELECT {RUN_BY} AS run_by FROM event",
        "SELECT clock_timestamp() AS run_by FROM event",
        f"{MORE}::test_while_the_sale_is_paused_what_ran_then_still_runs",
    ),
    entering(
        Kind.BOUND,
        "more time is given as often as the organiser says",
        "   AND more < CASE WHEN begun_at IS NULL THEN more_begin_max ELSE more_shopping_max END\n",
        "",
        f"{MORE}::test_it_is_given_so_often_and_no_more",
    ),
    entering(
        Kind.CONDITION,
        "more time is for who asks for it",
        f" AND buyer = %(buyer)s\n{ADMITTED}   AND floor",
        f"\n{ADMITTED}   AND floor",
        f"{MORE}::test_who_has_not_begun_gets_as_long_again_to_begin",
    ),
    joining(
        Kind.COUNT,
        "who is called again may ask for more time as often again",
        "ended_at = NULL, more = 0\n",
        "ended_at = NULL\n",
        f"{MORE}::test_who_is_called_again_may_ask_as_often_again",
    ),
    acting(
        Kind.CONDITION,
        "who is not admitted is told so when they ask for more time",
        "    if place.state is not PlaceState.ADMITTED:\n        raise not_admitted(place, room.told)\n",
        "",
        f"{OVER_THE_GATEWAY}::test_who_has_no_turn_is_told_what_to_do",
    ),
    roomtime(
        Kind.EXPIRY,
        "who chooses is warned of each end and of none twice",
        "    if (!name || !this.soon || this.warned === end) return;\n    this.warned = end;\n",
        "    if (!name || !this.soon || this.warned) return;\n    this.warned = end;\n",
        f"{PAGE}::test_who_chooses_is_warned_of_each_end_and_gets_more_time_by_the_keyboard",
    ),
    room(
        Kind.DEDUPE,
        "a page asks for more time by the end that it saw",
        '{ type: "more_time", end: this.time.end }',
        '{ type: "more_time", end: 0 }',
        f"{PAGE}::test_who_is_called_is_warned_and_gets_more_time_to_begin",
    ),
    moretime(
        Kind.BOUND,
        "who had the last of more time asks for no more of it",
        "    if (this.props.room.place.more_left) this.props.room.more();\n",
        "    this.props.room.more();\n",
        f"{PAGE}::test_who_chooses_is_warned_of_each_end_and_gets_more_time_by_the_keyboard",
    ),
    document(
        Kind.BOUND,
        "a place says how often more time can still be had",
        "    left = max(0, most - place.more) if place.state is PlaceState.ADMITTED else 0\n",
        "    left = most\n",
        f"{OVER_THE_GATEWAY}::test_more_time_on_the_socket_and_at_the_other_gateway",
    ),
]
