"""Faults in how it is known who is inside: what was read too early, time that stands, wishes and holds."""

from __future__ import annotations

from tests.mutants.mutant import In, Kind, Mutant

CODES = "tests/store/room/test_codes.py"
INSIDE = "tests/gateway/room/test_inside.py"
places = In("gateway/room/places.py")
room = In("gateway/room/waiting_room.py")

READ_AGAIN = f"{INSIDE}::test_what_was_read_before_all_changed_is_read_again"

MUTANTS: list[Mutant] = [
    places(
        Kind.SNAPSHOT,
        "what was read before something newer was learned does not replace it",
        "    return place != known.place and began < known.read_at\n",
        "    return False\n",
        f"{INSIDE}::test_what_was_read_before_a_buyer_joined_does_not_make_them_forgotten",
    ),
    places(
        Kind.SNAPSHOT,
        "what was begun before the draw and is told after it takes nobody's position away",
        "    return structs.replace(place, position=before.position)\n",
        "    return place\n",
        "tests/gateway/room/test_places.py::"
        "test_who_joined_before_the_draw_and_is_answered_late_is_not_told_that_their_position_is_gone",
    ),
    places(
        Kind.SNAPSHOT,
        "what was read before the draw, or before the ballot was over, is read again",
        "        if began < self._all_changed_at and known.clients and _waits(place):\n",
        "        if began < 0 and known.clients and _waits(place):\n",
        READ_AGAIN,
    ),
    places(
        Kind.SNAPSHOT,
        "who won in the ballot is looked at when it is over",
        "            self._note(known for known in self._connected.values() if _waits(known.place))\n",
        "            self._note([])\n",
        f"{INSIDE}::test_who_won_in_the_ballot_hears_that_they_are_inside_when_it_is_over",
    ),
    places(
        Kind.BOUND,
        "a sale that is over is not in use because somebody was inside",
        "        self._over = now.state is EventState.CLOSED\n",
        "        self._over = False\n",
        f"{INSIDE}::test_a_sale_that_is_over_is_not_in_use_because_somebody_was_inside",
    ),
    In("store/room/joining.py")(
        Kind.CONDITION,
        "a code costs nobody the wish that is being decided",
        "place_id = place.id AND lobby_ended_at IS NOT NULL AND ballot_ended_at IS NULL",
        "place_id = place.id AND lobby_ended_at IS NULL",
        f"{CODES}::test_while_a_ballot_is_decided_a_code_costs_nobody_their_wish",
    ),
    In("store/room/watching.py")(
        Kind.CONDITION,
        "nobody is inside by calling a request what the ballot's are called",
        "            AND batch_time <= ballot_ended_at))\n",
        "            ))\n",
        "tests/gateway/room/test_places.py::test_a_hold_of_the_ballot_or_an_offer_counts_as_inside",
    ),
    room(
        Kind.CLOCK,
        "while time does not count nobody is late",
        "        if now - run_by > STANDS_US_MIN:\n",
        "        if now < 0:\n",
        f"{INSIDE}::test_while_the_sale_is_paused_nobodys_time_inside_runs_out",
    ),
    In("gateway/events.py")(
        Kind.SNAPSHOT,
        "requests are taken as soon as buyers are told that the sale has begun",
        "        if self.room is not None and has_begun(",
        "        if self.room is None and has_begun(",
        f"{INSIDE}::test_whom_the_room_told_that_the_sale_has_begun_is_not_told_otherwise",
    ),
    In("gateway/pages/static/core/asking.js")(
        Kind.SNAPSHOT,
        "the ballot's answer is waited for where a gateway is late to hear that the sale has begun",
        'id === BALLOT && code === "event_not_open" ? BEGUN_WITHIN_S : retry_after',
        "retry_after",
        "tests/browser/test_room_page.py::"
        "test_a_gateway_that_has_not_heard_that_the_sale_has_begun_ends_no_wait_for_the_answer",
    ),
]
