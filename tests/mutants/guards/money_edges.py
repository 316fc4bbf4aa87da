"""Faults where money comes when nothing is sold any more, providers answer oddly, and calls are repeated."""

from __future__ import annotations

from tests.mutants.mutant import In, Kind, Mutant

LATE = "tests/store/payments/test_late.py"
STRIPE = "tests/gateway/payments/test_stripe.py"
SIGNATURES = "tests/gateway/payments/test_signatures.py"
CHORES = "tests/onsale/chores/test_payments.py"
ON_THE_WAY = f"{CHORES}::test_those_whose_money_is_on_the_way_stop_nobody_and_are_asked_again"
WEBHOOKS = "tests/gateway/test_idempotency_webhooks.py"
KEYS = "tests/gateway/test_idempotency_key.py"

REFUNDS = "tests/store/payments/test_refunds.py"
FREE_STANDS = f"{REFUNDS}::test_what_cost_nothing_stands_once_all_the_money_went_back"

SETTLE = "tests/store/payments/test_settle.py"
UNKEPT = f"{SETTLE}::test_what_postgres_cannot_keep_fails_alone_and_declines_are_counted_to_a_bound"
CANCEL = "tests/store/calling_off/test_cancel.py"
GIVEN_ON = "tests/store/calling_off/test_move.py::test_who_was_given_a_ticket_has_it_in_the_other_event"
BEGIN = "tests/store/payments/test_begin.py"

answered = In("store/payments/answered.py")
begin = In("store/payments/begin.py")
buying = In("store/payments/buying.py")
telling = In("gateway/payments/telling.py")
steps = In("store/calling_off/steps.py")
rebook = In("store/calling_off/rebook.py")
settle = In("store/payments/settle.py")
records = In("store/payments/records.py")
late = In("store/payments/late.py")
stripe = In("gateway/payments/stripe.py")
ending = In("store/payments/ending.py")
payments = In("onsale/chores/payments.py")
decode = In("gateway/buyers/decode.py")
keys = In("gateway/idempotency_key.py")
webhooks = In("gateway/operators/webhooks.py")

MUTANTS: list[Mutant] = [
    records(
        Kind.CONDITION,
        "late money of a closed event asks for nothing",
        "CASE WHEN event.state = 'closed' THEN 'refund' ELSE late_payment END",
        "late_payment",
        f"{LATE}::test_money_that_comes_late_for_a_closed_event_asks_for_nothing",
    ),
    late(
        Kind.CONDITION,
        "late money goes back undecided only once nothing is sold any more",
        " AND event.state = 'closed' FOR UPDATE",
        " FOR UPDATE",
        f"{LATE}::test_undecided_money_goes_back_once_nothing_is_sold_any_more",
    ),
    late(
        Kind.SNAPSHOT,
        "what the last batch decides of late money counts",
        " FOR UPDATE OF event_cursor\n",
        "\n",
        f"{LATE}::test_what_the_last_batch_decides_as_the_event_closes_counts",
    ),
    stripe(
        Kind.CONDITION,
        "a refund that was canceled is given anew",
        '_NOT_GIVEN: Final = frozenset({"failed", "canceled"})',
        '_NOT_GIVEN: Final = frozenset({"failed"})',
        f"{STRIPE}::test_a_refund_that_is_tried_again_is_looked_for_first",
    ),
    stripe(
        Kind.BOUND,
        "a signature beyond ASCII is refused",
        "(stripe.SignatureVerificationError, ValueError, TypeError)",
        "(stripe.SignatureVerificationError, ValueError)",
        f"{SIGNATURES}::test_what_stripes_own_tests_refuse_is_refused",
    ),
    ending(
        Kind.CONDITION,
        "what cannot be ended yet is left alone for a while",
        "   AND coalesce(next_at, '-infinity') <= clock_timestamp()\n ORDER BY payment.id LIMIT %(limit)s\n"
        '"""\n\nENDED',
        ' ORDER BY payment.id LIMIT %(limit)s\n"""\n\nENDED',
        ON_THE_WAY,
    ),
    payments(
        Kind.CONDITION,
        "money on its way is no provider that is away",
        "    except OnItsWay:  # for days",
        "    except NotImplementedError:  # for days",
        ON_THE_WAY,
    ),
    answered(
        Kind.CHECKER,
        "an order whose money went back has nothing that cost money",
        "                WHEN hold.state = 'paid' THEN hold.quantity <> (",
        "                WHEN hold.state = 'paid' THEN hold.quantity < (",
        FREE_STANDS,
    ),
    answered(
        Kind.CHECKER,
        "what cost nothing is what is charged with nothing",
        " AS line WHERE line ->> 7 = '0')",
        " AS line)",
        FREE_STANDS,
    ),
    begin(
        Kind.COUNT,
        "a payment is made for all that its hold counts",
        "        assert found == row[0], f",
        "        assert found is not None, f",
        f"{BEGIN}::test_a_hold_that_seems_to_have_less_than_it_counts_is_not_sold_for_less",
    ),
    begin(
        Kind.CONDITION,
        "an intent that was named late is ended",
        "       intent_ended = intent_ended AND intent IS NOT NULL\n",
        "       intent_ended = intent_ended\n",
        f"{BEGIN}::test_an_intent_that_is_named_when_nobody_waits_for_it_any_more_is_ended",
    ),
    buying(
        Kind.COUNT,
        "all areas that places are bought in are there",
        "        assert moved.rowcount == areas,",
        "        assert moved.rowcount <= areas,",
        f"{BEGIN}::test_places_of_an_area_that_is_not_there_are_not_sold",
    ),
    telling(
        Kind.CONDITION,
        "who cannot be told of a payment stops nobody behind",
        "                except Exception:  # whoever pays next",
        "                except NotImplementedError:  # whoever pays next",
        "tests/gateway/payments/test_telling.py::test_one_whom_nobody_could_tell_stops_nobody_behind",
    ),
    steps(
        Kind.HALVING,
        "an order that a constraint refuses does not keep the others",
        "    except (AssertionError, psycopg.IntegrityError):\n",
        "    except AssertionError:\n",
        f"{CANCEL}::test_an_order_whose_rows_contradict_each_other_is_left_and_the_others_go_back",
    ),
    steps(
        Kind.CONDITION,
        "orders that contradict themselves keep none behind them",
        "    while not done:\n        found",
        "    while not after:\n        found",
        f"{CANCEL}::test_however_many_orders_contradict_themselves_those_behind_them_go_back",
    ),
    rebook(
        Kind.CONDITION,
        "who was given a ticket has it in the other event",
        "    if tickets := by.tickets(has, rows):\n",
        "    if not (tickets := by.tickets(has, rows)):\n",
        GIVEN_ON,
    ),
    rebook(
        Kind.CONDITION,
        "places that went are not given in the other event",
        "places_there(area, count, rows), there",
        "places_there(area, count, {}), there",
        GIVEN_ON,
    ),
    settle(
        Kind.HALVING,
        "a notice that Postgres cannot keep does not stop the others",
        "psycopg.IntegrityError, psycopg.DataError)",
        "psycopg.IntegrityError)",
        UNKEPT,
    ),
    records(
        Kind.BOUND,
        "declines are counted to a bound",
        "declines = least(declines + new.declined, 9999)",
        "declines = declines + new.declined",
        UNKEPT,
    ),
    decode(
        Kind.BOUND,
        "a mail address is one, to its last character",
        '(?:\\.{_LABEL})*$(?!\\n)"',
        '(?:\\.{_LABEL})*$"',
        "tests/gateway/test_decode.py::test_what_is_not_one_mail_address_is_refused",
    ),
    keys(
        Kind.DEDUPE,
        "claiming a ticket takes a key",
        '("/v1/events/", "/v1/tickets/")',
        '("/v1/events/",)',
        f"{KEYS}::test_every_call_that_changes_something_takes_a_key_or_has_one_of_its_own",
    ),
    webhooks(
        Kind.DEDUPE,
        "a webhook's secret is changed once for a key",
        "        return done_once(request, conn, work)\n",
        "        return work()\n",
        f"{WEBHOOKS}::test_a_webhook_is_changed_once_even_if_the_gateway_died_before_it_answered",
    ),
]
