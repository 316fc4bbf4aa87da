"""Faults in figures, in the settlement, in what verify says of payments, and in calling an event off."""

from __future__ import annotations

from tests.mutants.mutant import In, Kind, Mutant

FOLD = "tests/store/figures/test_fold.py"
PROJECT = "tests/store/figures/test_project.py"
SETTLED = "tests/store/test_settlement.py"
INVARIANT = "tests/store/payments/test_invariant.py"
CANCEL = "tests/store/calling_off/test_cancel.py"
MOVE = "tests/store/calling_off/test_move.py"
NAMED = f"{SETTLED}::test_what_does_not_balance_is_named_with_its_payment"
TOLD = f"{INVARIANT}::test_what_does_not_add_up_is_told"
GROUPS = f"{FOLD}::test_rows_in_any_order_and_in_any_groups_come_to_the_same"
BACK = f"{FOLD}::test_what_is_taken_back_goes_from_where_it_was_counted"
MOVED = f"{FOLD}::test_what_moves_to_another_event_is_no_refund_and_no_new_order_there"
STEPS = f"{PROJECT}::test_in_steps_of_any_size_with_news_between_them_it_comes_to_what_a_rebuild_comes_to"
ALONG = f"{MOVE}::test_orders_go_along_with_their_seats_places_and_money"
REFUSED = f"{MOVE}::test_it_is_refused_with_a_reason_where_it_cannot_be"
ELSEWHERE = f"{MOVE}::test_what_the_other_plan_does_not_have_is_refunded"
fold = In("store/figures/fold.py")
project = In("store/figures/project.py")
settlement = In("store/payments/settlement.py")
invariant = In("store/payments/invariant.py")
steps = In("store/calling_off/steps.py")
begin = In("store/calling_off/begin.py")
rebook = In("store/calling_off/rebook.py")
sales = In("store/sales.py")
events = In("store/events.py")

FIGURES: list[Mutant] = [
    project(
        Kind.CONDITION,
        "figures do not go back to what somebody slower has counted",
        " AND (outbox_number, batch_no) = (%(was_number)s, %(was_batch)s)\n",
        "\n",
        f"{PROJECT}::test_who_counted_less_does_not_put_it_over_what_somebody_else_counted",
    ),
    project(
        Kind.DEDUPE,
        "the ledger is counted on from where it was counted to",
        'COUNT_LEDGER, values | {"last": last})',
        'COUNT_LEDGER, values | {"last": last, "batch": 0})',
        STEPS,
    ),
    project(
        Kind.BOUND,
        "a step counts a bounded piece of the ledger",
        " WHERE before < {LEDGER_ROWS_MAX}\n",
        " WHERE before < 0\n",
        STEPS,
    ),
    project(
        Kind.DEDUPE,
        "figures that are counted anew begin with nothing",
        "_At(begun.outbox_number), begun.figures\n",
        "_At(begun.outbox_number, 1), begun.figures\n",
        STEPS,
    ),
    fold(
        Kind.BOUND,
        "the minutes that are kept are the last ones",
        "sorted(minutes)[-MINUTES_MAX:]",
        "list(minutes)[:MINUTES_MAX]",
        f"{FOLD}::test_the_minutes_that_are_kept_are_the_last_ones",
    ),
    fold(
        Kind.BOUND,
        "the orders that are told are the last ones, whenever they are read",
        "sorted(one.booked + other.booked, reverse=True)[:BOOKED_MAX]",
        "(one.booked + other.booked)[:BOOKED_MAX]",
        GROUPS,
    ),
    fold(
        Kind.CONDITION,
        "what goes back of a category is at most what was owed",
        "        part = min(cost, left)\n",
        "        part = cost\n",
        f"{FOLD}::test_money_back_for_nothing_that_can_be_named_is_told_without_a_category",
        BACK,
        GROUPS,
        f"{FOLD}::test_what_is_taken_back_goes_from_where_it_was_counted",
    ),
    fold(
        Kind.DEDUPE,
        "an order from another event is no new order",
        "    if body.moved_from is not None:\n",
        "    if body.moved_from is not None and body.payment is None:\n",
        MOVED,
    ),
]

BALANCE: list[Mutant] = [
    *[
        settlement(Kind.CHECKER, f"a settlement that does not balance names {what}", old, new, NAMED)
        for what, old, new in (
            ("a payment whose lines come to something else", "    if sums != told:\n", "    if False:\n"),
            ("one in another currency", "    if paid.currency != currency:\n", "    if False:\n"),
            ("one whose refunds say something else", "    if rows != columns:\n", "    if False:\n"),
            (
                "one whose order is taken back",
                "        if paid.hold_state is not HoldState.PAID or not paid.is_buyers:\n",
                "        if not paid.is_buyers:\n",
            ),
            (
                "one whose order is another's",
                "        if paid.hold_state is not HoldState.PAID or not paid.is_buyers:\n",
                "        if paid.hold_state is not HoldState.PAID:\n",
            ),
            (
                "one whose order costs something else",
                "        elif paid.standing_minor != paid.left_minor:\n",
                "        elif False:\n",
            ),
            (
                "one whose order has what nobody paid for",
                "        elif sum([count for _, count in paid.standing]) != paid.has:\n",
                "        elif False:\n",
            ),
            (
                "one that asks for its seats and goes back",
                " and paid.left_minor != paid.amount_minor:",
                " and False:",
            ),
            (
                "one that goes back and is in no refund",
                "        if paid.left_minor:\n",
                "        if False:\n",
            ),
            (
                "one that goes back and whose order stands",
                "        if paid.hold_state is HoldState.PAID and free != paid.has:\n",
                "        if False:\n",
            ),
        )
    ],
    settlement(
        Kind.CHECKER,
        "what does not balance is not balanced by being too many",
        "        self._balances = self._balances and not stories\n",
        "        self._balances = self._balances and not self._wrong\n",
        f"{SETTLED}::test_many_imbalances_are_told_up_to_a_bound_and_none_makes_it_balance",
    ),
    settlement(
        Kind.SNAPSHOT,
        "a settlement is of one moment",
        "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY",
        "SET TRANSACTION READ ONLY",
        f"{SETTLED}::test_it_is_read_of_one_moment_and_locks_nobody",
    ),
    settlement(
        Kind.CONDITION,
        "an order without a payment is one that no payment bought",
        "AND order_id = hold.hold_id)",
        "AND order_id = hold_id)",
        f"{SETTLED}::test_all_of_a_sale_adds_up_and_stands_in_its_place",
    ),
    *[
        invariant(Kind.CHECKER, f"verify names {what}", old, new, TOLD)
        for what, old, new in (
            (
                "money whose order is taken back",
                "   AND (hold.state IS DISTINCT FROM 'paid' OR hold.buyer <> payment.buyer)\n",
                "   AND hold.buyer <> payment.buyer\n",
            ),
            ("money with another's order", " OR hold.buyer <> payment.buyer)", ")"),
            ("money that is to go back in no refund", "   AND (refund_due_minor <> its.due OR ", "   AND ("),
            ("refunds that a payment does not know of", " OR refunded_minor <> its.given\n", "\n"),
            (
                "less in the refunds than is to go back",
                " AND its.due + its.given <> amount_minor)",
                " AND false)",
            ),
            ("an order that is paid for twice", "HAVING count(*) > 1", "HAVING count(*) > 2"),
            (
                "an order that nobody paid for",
                "        if costs and told < ROWS_MAX:\n",
                "        if False:\n",
            ),
        )
    ],
    invariant(
        Kind.CHECKER,
        "an order that costs nothing needs no payment",
        "        if costs and told < ROWS_MAX:\n",
        "        if told < ROWS_MAX:\n",
        f"{INVARIANT}::test_orders_that_cost_nothing_need_no_payment",
    ),
    invariant(
        Kind.CHECKER,
        "where nothing is paid for no order needs a payment",
        "   AND event.payment = 'required'\n",
        "",
        f"{INVARIANT}::test_where_nothing_is_paid_for_no_order_needs_a_payment",
    ),
]

OFF: list[Mutant] = [
    events(
        Kind.LOCK_ORDER,
        "a batch under way is waited for by who calls its event off",
        "    conn.execute(LOCK_CURSOR, (event.id,))\n",
        "",
        f"{CANCEL}::test_a_batch_that_is_under_way_is_waited_for",
    ),
    sales(
        Kind.CONDITION,
        "nothing is sold by hand in an event that is called off",
        "        if conn.execute(IS_CALLED_OFF, values).fetchone() is not None:\n",
        "        if False:\n",
        f"{CANCEL}::test_nothing_is_sold_by_hand_once_it_is_canceled",
    ),
    begin(
        Kind.DEDUPE,
        "what is canceled again is not told again",
        "        if row is None:\n            _write(conn, event, None, said, None)\n",
        "        if row is None:\n            _write(conn, event, None, said, None)\n        if True:\n",
        f"{CANCEL}::test_what_is_canceled_again_is_answered_and_nothing_happens_twice",
    ),
    begin(
        Kind.CONDITION,
        "what is moved is not canceled",
        "        if row is not None and row[0] is not None:\n",
        "        if False:\n",
        REFUSED,
    ),
    begin(
        Kind.CONDITION,
        "orders are moved before the other event opens",
        "    if target.state not in (EventState.DRAFT, EventState.LOBBY):\n",
        "    if target.state is EventState.PAUSED:\n",
        REFUSED,
    ),
    begin(
        Kind.CONDITION,
        "an event that orders are moved to is not moved itself",
        '    if conn.execute(MOVING_HERE, {"event": event.id}).fetchone() is not None:\n',
        "    if False:\n",
        REFUSED,
    ),
    begin(
        Kind.CONDITION,
        "orders stay in their currency",
        "    if plan.currency != target_plan.currency:\n",
        "    if False:\n",
        f"{MOVE}::test_prices_in_another_currency_are_no_place_to_move_to",
    ),
    begin(
        Kind.CONDITION,
        "seats are kept for who moves before anybody can buy",
        "    if what.seats or what.areas:\n        blocks.turn(",
        "    if False:\n        blocks.turn(",
        f"{MOVE}::test_the_lane_is_kept_when_the_other_event_opens_before_it_is_done",
    ),
    begin(
        Kind.CONDITION,
        "only what is free is kept for who moves",
        " if row[1] == SeatState.AVAILABLE]",
        "]",
        f"{MOVE}::test_an_order_whose_seats_somebody_has_there_is_refunded_whole",
    ),
    steps(
        Kind.DEDUPE,
        "an order is counted as taken back by who took it back",
        "        if row is None or row[0] != HoldState.PAID:\n            return None\n        back",
        "        if row is None:\n            return None\n        back",
        f"{CANCEL}::test_two_who_take_the_same_steps_do_each_once",
    ),
    steps(
        Kind.DEDUPE,
        "a hold is counted as ended by who ended it",
        "fetchone() is None:\n                return None  # bought",
        "fetchone() is ...:\n                return None  # bought",
        f"{CANCEL}::test_two_who_take_the_same_steps_do_each_once",
    ),
    *[
        steps(
            Kind.CONDITION,
            f"calling off is not done while {what}",
            old,
            new,
            f"{CANCEL}::test_it_is_done_when_nothing_is_left_and_no_sooner",
        )
        for what, old, new in (
            ("a hold runs", "hold.state IN ('active', 'paid'))", "hold.state = 'paid')"),
            ("an order stands", "hold.state IN ('active', 'paid'))", "hold.state = 'active')"),
            (
                "somebody waits",
                "AND waiting.state = 'waiting')\nRETURNING",
                "AND waiting.state = 'never')\nRETURNING",
            ),
        )
    ],
    steps(
        Kind.HALVING,
        "an order whose rows contradict each other does not keep the others",
        "    except (AssertionError, psycopg.IntegrityError):\n",
        "    except psycopg.IntegrityError:\n",
        f"{CANCEL}::test_an_order_whose_rows_contradict_each_other_is_left_and_the_others_go_back",
    ),
    steps(
        Kind.COUNT,
        "places that were needed are not put on sale again",
        "min(count - used.get(area, 0), blocked[area])",
        "count",
        f"{MOVE}::test_what_was_kept_for_it_and_not_needed_is_on_sale_again",
    ),
    steps(
        Kind.CONDITION,
        "what was kept and not needed is on sale again",
        "        if row is not None and one.to_id is not None:\n",
        "        if False:\n",
        f"{MOVE}::test_what_was_kept_for_it_and_not_needed_is_on_sale_again",
    ),
    rebook(
        Kind.CONDITION,
        "an order goes along only where all of it is",
        "        if not (self._seats.keys() >= set(has.seats) and self._areas.keys() >= has.areas.keys()):\n",
        "        if not self._seats.keys() >= set(has.seats):\n",
        ELSEWHERE,
    ),
    rebook(
        Kind.CONDITION,
        "an order goes along only where its categories are",
        "        if not {line.category for line in charge.lines} <= self._categories.keys():\n",
        "        if False:\n",
        ELSEWHERE,
    ),
    rebook(
        Kind.CONDITION,
        "an order that cannot be had there goes back, and what was tried is undone",
        "    except Refused:\n        made = None\n",
        "    except ZeroDivisionError:\n        made = None\n",
        f"{MOVE}::test_an_order_whose_seats_somebody_has_there_is_refunded_whole",
    ),
    rebook(
        Kind.CONDITION,
        "refunds go along with their payment",
        "        conn.execute(MOVE_REFUNDS, given)\n",
        "",
        ALONG,
    ),
    rebook(
        Kind.CONDITION,
        "a payment that went along has the other plan's numbers",
        'given["charged"] = msgspec.json.encode(by.charge(payment.charge)).decode()',
        'given["charged"] = msgspec.json.encode(payment.charge).decode()',
        ALONG,
    ),
]

MUTANTS: list[Mutant] = [*FIGURES, *BALANCE, *OFF]
