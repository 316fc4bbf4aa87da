"""Faults in the console's pages beside a sale: what is asked before money goes back, that a sale by hand is
made once, that a look is changed from what was seen."""

from __future__ import annotations

from tests.mutants.mutant import In, Kind, Mutant

OFF = "tests/browser/test_console_off.py"
SALES = "tests/browser/test_console_sales.py"
ROOM = "tests/browser/test_console_room.py"
TOLD = "tests/browser/test_console_told.py"
PRICES = "tests/browser/test_console_prices.py"
MOVED = f"{PRICES}::test_seats_and_an_area_are_picked_and_given_another_category_from_what_was_seen"
FEES = f"{PRICES}::test_before_the_sale_fees_and_tax_are_set_with_what_a_buyer_would_pay_and_taken_back"
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
prices_page = In("gateway/pages/static/console/prices/page.js")
reckon = In("gateway/pages/static/console/prices/reckon.js")
fees = In("gateway/pages/static/console/prices/fees.js")
standing = In("gateway/pages/static/console/prices/standing.js")
story = In("gateway/pages/static/console/webhooks/story.js")

MUTANTS: list[Mutant] = [
    prices_page(
        Kind.CONDITION,
        "seats get another category from what was seen of them",
        "...named, seen, why:",
        "...named, why:",
        MOVED,
    ),
    prices_page(
        Kind.CONDITION,
        "fees and tax are set from what was seen of them",
        "{ ...terms, seen, why }",
        "{ ...terms, why }",
        FEES,
    ),
    prices_page(
        Kind.CONDITION,
        "who was slower with a category does it all the same from how it is by then",
        "back: null, seen: now.plan }",
        "back: null }",
        MOVED,
    ),
    In("gateway/pages/static/console/prices/move.js")(
        Kind.CONDITION,
        "a move that is taken back leaves what was of that category before",
        "seats: seats.filter((seat) => venue.category[seat] !== to)",
        "seats",
        MOVED,
    ),
    prices_page(
        Kind.TOKEN,
        "a viewer is shown no fields for fees, tax and categories",
        'session.may("operator"))}<//>`',
        "true)}<//>`",
        f"{PRICES}::test_a_viewer_sees_prices_and_why_nothing_of_a_sale_that_is_over_can_be_changed",
    ),
    fees(
        Kind.BOUND,
        "a fee that is no amount of its currency is not sent",
        "disabled=${busy || !other || wrong}",
        "disabled=${busy || !other}",
        FEES,
    ),
    reckon(
        Kind.CONDITION,
        "the page rounds each part of a price as the server does",
        "(2n * numerator + denominator) / (2n * denominator)",
        "numerator / denominator",
        f"{PRICES}::test_the_page_reckons_what_a_seat_costs_as_the_server_does",
    ),
    standing(
        Kind.CONDITION,
        "before a sale the page lets nobody move what somebody has",
        'offered.may_move === "free" && has(states[seat])',
        'offered.may_move === "none" && has(states[seat])',
        f"{PRICES}::test_what_has_a_limit_or_is_somebodys_stays",
    ),
    standing(
        Kind.CONDITION,
        "the page moves nothing of a category that has a limit",
        "if (offered.limited.includes(venue.categories[venue.category[seat]].name)) return",
        "if (!venue) return",
        f"{PRICES}::test_what_has_a_limit_or_is_somebodys_stays",
    ),
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
