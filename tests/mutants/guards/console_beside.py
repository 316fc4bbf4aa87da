"""Faults in the console's pages beside a sale: what is asked before money goes back, that a sale by hand is
made once, that a look is changed from what was seen."""

from __future__ import annotations

from tests.mutants.mutant import In, Kind, Mutant

OFF = "tests/browser/test_console_off.py"
SALES = "tests/browser/test_console_sales.py"
ROOM = "tests/browser/test_console_room.py"
TOLD = "tests/browser/test_console_told.py"
off_page = In("gateway/pages/static/console/off/page.js")
cancel = In("gateway/pages/static/console/off/cancel.js")
kept = In("gateway/pages/static/console/off/kept.js")
move = In("gateway/pages/static/console/off/move.js")
back = In("gateway/pages/static/console/sales/back.js")
form = In("gateway/pages/static/console/sales/form.js")
free = In("gateway/pages/static/console/sales/free.js")
lately = In("gateway/pages/static/console/sales/lately.js")
look = In("gateway/pages/static/console/room/look.js")
preview = In("gateway/pages/static/console/room/preview.js")
codes = In("gateway/pages/static/console/room/codes.js")
story = In("gateway/pages/static/console/webhooks/story.js")

MUTANTS: list[Mutant] = [
    off_page(
        Kind.TOKEN,
        "who is no owner cannot call an event off in the console",
        'this.#before(session.may("owner"))',
        "this.#before(true)",
        f"{OFF}::test_who_is_no_owner_sees_the_cost_and_cannot_call_off",
    ),
    cancel(
        Kind.CONDITION,
        "an event is not called off without a reason",
        '<input name="reason" required maxlength',
        '<input name="reason" maxlength',
        f"{OFF}::test_canceling_says_what_it_costs_wants_the_name_and_a_reason_and_tells_how_far_it_is",
    ),
    move(
        Kind.CONDITION,
        "an event is not moved to one that is sold in another currency",
        "disabled=${busy || Boolean(kept.currency)}",
        "disabled=${busy}",
        f"{OFF}::test_moving_says_which_seats_are_there_and_who_was_slower_sees_what_was_done",
    ),
    kept(
        Kind.CONDITION,
        "a seat that somebody has in the other event is not said to be kept by a move",
        "to_seats.states[number] === FREE && ",
        "",
        f"{OFF}::test_moving_says_which_seats_are_there_and_who_was_slower_sees_what_was_done",
    ),
    form(
        Kind.DEDUPE,
        "a sale by hand that is sent again after a refusal is the same sale",
        "areas: Object.fromEntries(places.map(([area, n]) => [venue.areas[area].guid, n])), reference, why }",
        "areas: Object.fromEntries(places.map(([area, n]) => [venue.areas[area].guid, n])),"
        " reference: newKey(), why }",
        f"{SALES}::test_what_a_colleague_sold_meanwhile_is_said_and_a_refusal_keeps_what_was_picked",
    ),
    form(
        Kind.SNAPSHOT,
        "what was picked and is somebody's by now is not asked for",
        "    if (gone.length) return",
        "    if (false) return",
        f"{SALES}::test_what_a_colleague_sold_meanwhile_is_said_and_a_refusal_keeps_what_was_picked",
    ),
    free(
        Kind.CONDITION,
        "the best free seats are picked from those that nobody has",
        "run = stateOf(states[seat]) === FREE && !taken.has(seat)",
        "run = !taken.has(seat)",
        f"{SALES}::test_seats_and_places_are_picked_sold_once_and_a_part_is_taken_back",
    ),
    back(
        Kind.CONDITION,
        "an order is taken back as it was seen, so a repeat takes nothing twice",
        "  const whole = { block, quantity: quantityOf(order) };\n",
        "  const whole = { block };\n",
        f"{SALES}::test_seats_and_places_are_picked_sold_once_and_a_part_is_taken_back",
    ),
    lately(
        Kind.SNAPSHOT,
        "what was taken back of an order already is not taken back again",
        "seats: seats.filter((seat) => !gone.has(seat))",
        "seats",
        f"{SALES}::test_orders_sold_before_and_any_other_are_taken_back_as_they_stand",
    ),
    look(
        Kind.CONDITION,
        "a look is saved only where nobody changed the room since it was seen",
        "{ look, edition, why: WHY }",
        "{ look, why: WHY }",
        f"{ROOM}::test_a_look_that_a_colleague_changed_is_told_and_a_colour_that_is_none_is_not_sent",
    ),
    preview(
        Kind.CONDITION,
        "what is shown as buyers see it is only looked at",
        '<div class="room" inert>',
        '<div class="room">',
        f"{ROOM}::test_a_look_is_seen_as_buyers_will_see_it_saved_and_taken_back",
    ),
    codes(
        Kind.CONDITION,
        "the codes of a label are withdrawn once it is typed",
        "danger: true, type: label, reason: true",
        "danger: true, reason: true",
        f"{ROOM}::test_codes_are_shown_once_kept_as_a_file_and_withdrawn_by_their_label",
    ),
    story(
        Kind.CONDITION,
        "a webhook is removed once its host is typed",
        "danger: true, type: new URL(webhook.url).host, reason: true",
        "danger: true, reason: true",
        f"{TOLD}::test_an_owner_gives_a_new_secret_and_removes_one_by_its_host",
    ),
]
