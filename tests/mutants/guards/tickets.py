"""Faults in tickets: whose they are, what counts at the door, what is returned, given away and signed."""

from __future__ import annotations

from tests.mutants.mutant import In, Kind, Mutant

RETURNS = "tests/store/tickets/test_returns.py"
TRANSFERS = "tests/store/tickets/test_transfers.py"
CHECKS = "tests/store/tickets/test_checks.py"
READS = "tests/store/tickets/test_reads.py"
ITEMS = "tests/store/tickets/test_items.py"
TOKENS = "tests/notifier/test_tickets.py"
DOORS = "tests/gateway/tickets/test_doors.py"
CHANGES = "tests/gateway/tickets/test_changes.py"
ORDERS = "tests/gateway/tickets/test_orders.py"
ALONE = f"{TRANSFERS}::test_each_statement_stands_alone_against_what_is_not_as_it_must_be"
returns = In("store/tickets/returns.py")
transfers = In("store/tickets/transfers.py")
checks = In("store/tickets/checks.py")
rows = In("store/tickets/rows.py")
items = In("store/tickets/items.py")
reads = In("store/tickets/reads.py")
revoked = In("store/tickets/revoked.py")
sales = In("store/sales.py")
tokens = In("notifier/tickets.py")
doors = In("gateway/tickets/doors.py")
changes = In("gateway/tickets/changes.py")
shown = In("gateway/tickets/shown.py")
access = In("gateway/operators/access.py")
settings = In("gateway/settings.py")
migration = In("store/migrations/versions/0013_tickets.py")

RETURNED: list[Mutant] = [
    returns(
        Kind.CONDITION,
        "an order is returned by its buyer alone",
        " AND hold.buyer = %(buyer)s FOR UPDATE OF hold",
        " FOR UPDATE OF hold",
        f"{RETURNS}::test_somebody_elses_order_is_no_order",
    ),
    returns(
        Kind.LOCK_ORDER,
        "no order is returned while a batch is under way",
        "        conn.execute(blocks.LOCK_CURSOR, values)\n",
        "",
        f"{RETURNS}::test_a_return_locks_the_cursor_then_the_order_then_its_seats",
    ),
    returns(
        Kind.DEDUPE,
        "an order that was returned whole is answered as it is",
        "        if state == HoldState.REFUNDED:\n",
        "        if state is None:\n",
        f"{RETURNS}::test_returning_again_changes_nothing_and_what_is_gone_already_is_left_out",
    ),
    returns(
        Kind.CONDITION,
        "a hold is not returned",
        "        if state != HoldState.PAID:\n",
        "        if state is None:\n",
        f"{RETURNS}::test_a_hold_is_not_returned",
    ),
    returns(
        Kind.CONDITION,
        "a return names only tickets of the order",
        "        if item not in there and not rows.get(item, NOTHING).gone:\n",
        "        if item is None:\n",
        f"{RETURNS}::test_a_ticket_the_order_never_had_is_none_and_nothing_is_returned",
    ),
    returns(
        Kind.DEDUPE,
        "what is gone already is left out of a return",
        "    return [item for item in there if item in items]\n",
        "    return list(items)\n",
        f"{RETURNS}::test_returning_again_changes_nothing_and_what_is_gone_already_is_left_out",
    ),
    returns(
        Kind.CONDITION,
        "only where the organiser allows it something is returned",
        "    if not allowed:\n",
        "    if allowed is None:\n",
        f"{RETURNS}::test_where_the_organiser_takes_nothing_back_nothing_is_returned",
    ),
    returns(
        Kind.CONDITION,
        "what was given away is not returned by who gave it",
        "    if given:\n",
        "    if given and not given:\n",
        f"{RETURNS}::test_what_was_given_away_is_its_holders",
    ),
    returns(
        Kind.CONDITION,
        "who came in does not return the ticket",
        "    if used:\n",
        "    if used and not used:\n",
        f"{RETURNS}::test_who_came_in_with_a_ticket_cannot_return_it",
    ),
    sales(
        Kind.CONDITION,
        "what went of an order that goes on is remembered",
        "    if not whole:\n        went",
        "    if False:\n        went",
        f"{RETURNS}::test_some_tickets_are_returned_and_the_others_keep_their_numbers",
    ),
    rows(
        Kind.CONDITION,
        "an offer ends with its ticket",
        "DO UPDATE SET gone = true, offered = false\n",
        "DO UPDATE SET gone = true\n",
        f"{TRANSFERS}::test_what_went_cannot_be_claimed",
    ),
    items(
        Kind.CONDITION,
        "a place that went does not come back under its number",
        "        if not rows.get(item, NOTHING).gone:\n",
        "        if item:\n",
        f"{ITEMS}::test_places_keep_their_numbers_whatever_went_before",
    ),
    items(
        Kind.CONDITION,
        "an operator takes back first what nobody was given",
        "        return row.checked_at is not None, row.holder is not None, -item.number\n",
        "        return False, False, -item.number\n",
        f"{RETURNS}::test_an_operator_who_takes_places_back_leaves_those_that_somebody_was_given",
    ),
]

GIVEN: list[Mutant] = [
    transfers(
        Kind.LOCK_ORDER,
        "whoever gives or takes a ticket waits for changes of its order",
        " WHERE hold.event_id = %(event)s AND hold.hold_id = %(hold)s FOR NO KEY UPDATE OF hold\n",
        " WHERE hold.event_id = %(event)s AND hold.hold_id = %(hold)s\n",
        f"{TRANSFERS}::test_who_claims_waits_for_whoever_changes_the_order",
    ),
    transfers(
        Kind.CONDITION,
        "only who has a ticket offers it",
        "    if order.holder(item) != buyer or not await is_there",
        "    if not await is_there",
        f"{TRANSFERS}::test_only_its_holder_offers_a_ticket_or_takes_the_offer_back",
    ),
    transfers(
        Kind.CONDITION,
        "only a ticket the order has is offered",
        "!= buyer or not await is_there(connection, values, order.state, order.rows, item):\n",
        "!= buyer:\n",
        f"{TRANSFERS}::test_only_its_holder_offers_a_ticket_or_takes_the_offer_back",
    ),
    transfers(
        Kind.CONDITION,
        "only where the organiser allows it a ticket is offered",
        "        if not order.allowed:\n",
        "        if order.allowed is None:\n",
        f"{TRANSFERS}::test_where_the_organiser_allows_no_giving_nothing_is_offered_and_what_was_can_be_claimed",
    ),
    transfers(
        Kind.CONDITION,
        "who came in does not give the ticket away",
        "        if row.checked_at is not None:\n",
        "        if row.checked_at == 0:\n",
        f"{TRANSFERS}::test_who_came_in_with_a_ticket_cannot_give_it_away",
    ),
    transfers(
        Kind.DEDUPE,
        "offering again gives the same code",
        "        if row.offered and row.offer_code is not None:\n",
        "        if row.offered and row.offer_code is None:\n",
        f"{TRANSFERS}::test_offering_again_gives_the_same_code_and_another_ticket_another",
    ),
    transfers(
        Kind.CONDITION,
        "a code claims once",
        "   AND offer_code = %(code)s AND offered AND NOT gone\n",
        "   AND offer_code = %(code)s AND NOT gone\n",
        ALONE,
    ),
    transfers(
        Kind.CONDITION,
        "a code claims what is offered under it",
        "   AND offer_code = %(code)s AND offered AND NOT gone\n",
        "   AND offered AND NOT gone\n",
        ALONE,
    ),
    transfers(
        Kind.CONDITION,
        "older tokens of a claimed ticket are worthless",
        "{restored.SERIAL_ABOVE}) + 1",
        "{restored.SERIAL_ABOVE})",
        f"{TRANSFERS}::test_what_was_offered_is_the_claimers_under_the_next_serial",
    ),
    transfers(
        Kind.CONDITION,
        "what went is not claimed",
        "        if not await is_there(connection, values, order.state, order.rows, item):\n",
        "        if order is None:\n",
        f"{TRANSFERS}::test_what_went_cannot_be_claimed",
    ),
    transfers(
        Kind.DEDUPE,
        "claiming again by the same buyer gives the same ticket",
        "        if order.holder(item) == buyer:\n",
        "        if order.holder(item) == buyer and row.offered:\n",
        f"{TRANSFERS}::test_claiming_again_gives_the_same_ticket_once",
    ),
    transfers(
        Kind.CONDITION,
        "nobody claims from themselves",
        "    if row.offered:\n        raise Conflicted",
        "    if row.gone:\n        raise Conflicted",
        f"{TRANSFERS}::test_nobody_claims_from_themselves",
    ),
    transfers(
        Kind.CONDITION,
        "the code of an offer that was taken back means nothing",
        "UPDATE ticket SET offered = false, offer_code = NULL\n",
        "UPDATE ticket SET offered = false\n",
        f"{TRANSFERS}::test_an_offer_is_taken_back_and_its_code_means_nothing_then",
    ),
    migration(
        Kind.CONSTRAINT,
        "a code is of one ticket",
        'op.create_index("ticket_offer", "ticket", ["offer_code"], unique=True,',
        'op.create_index("ticket_offer", "ticket", ["offer_code"], unique=False,',
        f"{TRANSFERS}::test_a_code_is_of_one_ticket_by_the_table_itself",
    ),
]

AT_THE_DOOR: list[Mutant] = [
    checks(
        Kind.CONDITION,
        "only the newest serial of a ticket counts",
        "        if not there or row.serial != serial:\n",
        "        if not there:\n",
        f"{CHECKS}::test_of_a_ticket_that_was_given_on_only_the_new_token_counts",
    ),
    checks(
        Kind.CONDITION,
        "what the order has not lets nobody in",
        "        if not there or row.serial != serial:\n",
        "        if row.serial != serial:\n",
        f"{CHECKS}::test_what_the_order_has_not_lets_nobody_in",
    ),
    checks(
        Kind.DEDUPE,
        "a ticket lets in once",
        "            door = Door.VALID if again else Door.CHECKED_IN_BEFORE\n",
        "            door = Door.VALID\n",
        f"{CHECKS}::test_a_ticket_lets_in_once_and_the_same_device_hears_the_same_again",
    ),
    checks(
        Kind.CONDITION,
        "the first check-in is the one that is remembered",
        " WHERE ticket.checked_at IS NULL\n",
        "",
        f"{CHECKS}::test_the_statement_alone_remembers_the_first",
    ),
    checks(
        Kind.LOCK_ORDER,
        "a check-in waits for changes of its order",
        "AND hold_id = %(hold)s FOR NO KEY UPDATE\n",
        "AND hold_id = %(hold)s\n",
        f"{TRANSFERS}::test_who_claims_waits_for_whoever_changes_the_order",
    ),
    checks(
        Kind.CONDITION,
        "an offer ends when its giver comes in",
        "checked_by = %(device)s, offered = false\n",
        "checked_by = %(device)s\n",
        f"{TRANSFERS}::test_who_came_in_with_a_ticket_cannot_give_it_away",
    ),
    rows(
        Kind.CONDITION,
        "tickets count only while their order is paid",
        "    if state is not HoldState.PAID or rows.get",
        "    if rows.get",
        f"{CHECKS}::test_what_the_order_has_not_lets_nobody_in",
    ),
    rows(
        Kind.CONDITION,
        "a seat's ticket is of the order that has the seat",
        " AND seat_no = %(number)s AND hold_id = %(hold)s\n",
        " AND seat_no = %(number)s\n",
        f"{CHECKS}::test_what_the_order_has_not_lets_nobody_in",
    ),
    revoked(
        Kind.CONDITION,
        "doors hear of older serials",
        "AND (gone OR serial > 1) AND",
        "AND gone AND",
        f"{CHECKS}::test_doors_hear_of_orders_taken_back_of_tickets_that_went_and_of_older_serials",
    ),
    doors(
        Kind.TOKEN,
        "a ticket for another event lets nobody in here",
        "    if ticket.event != runtime.row.slug:\n",
        "    if not ticket.event:\n",
        f"{DOORS}::test_what_is_not_of_this_event_or_not_ours_is_told_apart",
    ),
    doors(
        Kind.TOKEN,
        "doors have the operator key",
        'tags=["operators"], dependencies=[Depends(require_viewer)])',
        'tags=["operators"], dependencies=[Depends(room_of)] * 0)',
        f"{DOORS}::test_doors_have_the_operator_key",
    ),
    doors(
        Kind.BOUND,
        "an export that has more says where to go on",
        "    more = found[-1].place if len(found) == REVOKED_MAX else None\n",
        "    more = None\n",
        f"{DOORS}::test_what_is_exported_tells_a_door_that_is_cut_off",
    ),
]

SIGNED: list[Mutant] = [
    tokens(
        Kind.TOKEN,
        "a ticket's signature is looked at",
        "            key.verify(signature, _CONTEXT + payload)\n",
        "            assert key\n",
        f"{TOKENS}::test_who_signs_with_another_key_of_the_same_id_forges_nothing",
    ),
    tokens(
        Kind.TOKEN,
        "a signature for anything else is none for a ticket",
        '_CONTEXT: Final = b"onsale ticket\\x00"\n',
        '_CONTEXT: Final = b""\n',
        f"{TOKENS}::test_a_signature_for_anything_but_a_ticket_is_none",
    ),
    tokens(
        Kind.TOKEN,
        "each token has one text",
        ' or base64.b32encode(raw).decode().rstrip("=") != text:\n',
        ":\n",
        f"{TOKENS}::test_a_token_has_one_text",
    ),
    tokens(
        Kind.TOKEN,
        "tokens of keys before stay good",
        "        self.public: list[Ed25519PublicKey] = [key.public_key() for key in private]\n",
        "        self.public: list[Ed25519PublicKey] = [key.public_key() for key in private[:1]]\n",
        f"{TOKENS}::test_after_keys_were_changed_older_tokens_stay_good_while_their_key_is_known",
    ),
    tokens(
        Kind.TOKEN,
        "a ticket key is long enough",
        "        if not texts or any(len(text) < SECRET_LENGTH_MIN for text in texts):\n",
        "        if not texts:\n",
        f"{TOKENS}::test_a_key_that_could_be_guessed_is_refused",
    ),
    tokens(
        Kind.TOKEN,
        "a door that is cut off tells other events apart",
        "    if event is not None and ticket.event != event:\n",
        "    if event is not None and not ticket.event:\n",
        f"{TOKENS}::test_a_door_says_what_it_can_know",
    ),
    tokens(
        Kind.TOKEN,
        "a door that is cut off knows what is revoked",
        "ticket.serial < self._below.get((order, ticket.item.name), 0)\n",
        "ticket.serial == self._below.get((order, ticket.item.name), 0)\n",
        f"{TOKENS}::test_what_is_revoked_is_told_by_order_ticket_and_serial",
    ),
    settings(
        Kind.TOKEN,
        "a gateway with a ticket key that could be guessed does not start",
        "        if self.ticket_key:\n",
        "        if not self.ticket_key and self.ticket_key:\n",
        f"{ORDERS}::test_a_key_that_could_be_guessed_is_refused_at_the_start",
    ),
]

SHOWN: list[Mutant] = [
    reads(
        Kind.CONDITION,
        "buyers see their own orders",
        "      WHERE mine.event_id = %(event)s AND mine.buyer = %(buyer)s AND mine.state",
        "      WHERE mine.event_id = %(event)s AND mine.state",
        f"{READS}::test_a_buyers_orders_are_told_newest_first_with_what_they_have",
    ),
    reads(
        Kind.CONDITION,
        "who was given a ticket sees nothing else of the order",
        " if mine or kept.holder == buyer])\n",
        "])\n",
        f"{READS}::test_who_was_given_a_ticket_sees_it_and_nothing_else_of_the_order",
    ),
    reads(
        Kind.CONDITION,
        "an order of which nothing is yours is not there",
        " if one.mine or one.items), None)\n",
        "), None)\n",
        f"{READS}::test_who_was_given_a_ticket_sees_it_and_nothing_else_of_the_order",
    ),
    reads(
        Kind.CONDITION,
        "what was paid is told to who paid",
        "    if mine and charged is not None:\n",
        "    if charged is not None:\n",
        f"{READS}::test_what_was_paid_and_what_came_back_is_told_to_who_paid",
    ),
    shown(
        Kind.TOKEN,
        "only who has a ticket gets its token",
        "    yours = seen.has(item)\n",
        "    yours = True\n",
        f"{CHANGES}::test_a_ticket_that_was_given_is_its_new_holders_alone",
    ),
    changes(
        Kind.BOUND,
        "a return that names nothing is refused",
        "Meta(min_length=1, max_length=TICKETS_MAX)]",
        "Meta(max_length=TICKETS_MAX)]",
        f"{CHANGES}::test_a_return_that_cannot_be_is_refused_and_nothing_is_returned",
    ),
    changes(
        Kind.FACTS,
        "a return wakes the allocator",
        "    await wake_allocator(runtime)\n",
        "",
        f"{CHANGES}::test_a_return_wakes_the_allocator_and_is_told_to_the_buyers_sockets",
    ),
]

MUTANTS: list[Mutant] = [*RETURNED, *GIVEN, *AT_THE_DOOR, *SIGNED, *SHOWN]
