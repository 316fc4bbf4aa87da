"""Faults in paying: what a gateway believes of providers, asks them, and tells."""

from __future__ import annotations

from tests.mutants.mutant import In, Kind, Mutant

NOTICES = "tests/gateway/payments/test_notices.py"
PAYING = "tests/gateway/payments/test_paying.py"
LATE = "tests/gateway/payments/test_late.py"
SIGNATURES = "tests/gateway/payments/test_signatures.py"
STRIPE = "tests/gateway/payments/test_stripe.py"
TELLING = "tests/gateway/payments/test_telling.py"
SETTLE = "tests/store/payments/test_settle.py"
WRONG = f"{NOTICES}::test_what_cannot_be_believed_changes_nothing"
TOGETHER = f"{NOTICES}::test_notices_of_one_moment_are_settled_together_and_a_full_queue_says_when"
MEGABYTE = f"{NOTICES}::test_a_megabyte_of_json_is_refused_before_it_is_read"
simulated = In("gateway/payments/simulated.py")
stripe = In("gateway/payments/stripe.py")
notices = In("gateway/payments/notices.py")
settling = In("gateway/payments/settling.py")
paying = In("gateway/payments/paying.py")
port = In("gateway/payments/port.py")
following = In("gateway/payments/following.py")
settle = In("store/payments/settle.py")
late = In("store/payments/late.py")
shown = In("store/payments/shown.py")

MUTANTS: list[Mutant] = [
    simulated(
        Kind.TOKEN,
        "a notice of the simulated provider is believed for its signature only",
        "            self._webhook.verify(body, dict(headers), json_parse=False)\n",
        "            body.decode()\n",
        f"{SIGNATURES}::test_what_differs_from_the_standards_vector_is_not_genuine",
        WRONG,
    ),
    stripe(
        Kind.TOKEN,
        "a notice of Stripe's is believed for its signature only",
        "            stripe.WebhookSignature.verify_header(body, signed, self._secret, TOLERANCE_SECONDS)\n",
        "            assert signed is not None or self._secret\n",
        f"{SIGNATURES}::test_what_stripes_own_tests_refuse_is_refused",
    ),
    stripe(
        Kind.CLOCK,
        "what Stripe signed long ago is not believed",
        "self._secret, TOLERANCE_SECONDS)",
        "self._secret)",
        f"{SIGNATURES}::test_what_stripes_own_tests_refuse_is_refused",
    ),
    stripe(
        Kind.CONDITION,
        "of a success at Stripe counts what came in",
        "amount = intent.amount_received if kind is NoticeKind.SUCCEEDED else intent.amount",
        "amount = intent.amount",
        f"{STRIPE}::test_each_event_is_understood",
    ),
    stripe(
        Kind.DEDUPE,
        "a refund that is tried again is looked for at Stripe first",
        "            if due.attempts > 1:\n",
        "            if due.attempts > 1_000:\n",
        f"{STRIPE}::test_a_refund_that_is_tried_again_is_looked_for_first",
    ),
    stripe(
        Kind.DEDUPE,
        "Stripe is asked for an intent under the payment's key",
        '                {"idempotency_key": begin.key_of(payment.id)},\n',
        "                {},\n",
        f"{STRIPE}::test_an_intent_is_made_for_the_payment_under_its_key",
    ),
    stripe(
        Kind.DEDUPE,
        "Stripe is asked for a refund under the refund's key",
        '                {"idempotency_key": refunds.key_of(due.id)},\n',
        "                {},\n",
        f"{STRIPE}::test_a_refund_is_given_once_under_its_key",
    ),
    stripe(
        Kind.CONDITION,
        "an intent whose money is on the way is not taken for ended",
        "            if over is None:\n                raise OnItsWay",
        "            if False:\n                raise OnItsWay",
        f"{STRIPE}::test_an_intent_is_ended_and_money_that_came_first_is_told",
    ),
    port(
        Kind.BOUND,
        "ids of providers are such as Postgres can keep",
        'pattern=r"^[\\x21-\\x7e]{1,255}$(?!\\n)"',
        'pattern=r"^"',
        WRONG,
        f"{STRIPE}::test_an_event_that_cannot_be_understood_is_refused",
    ),
    port(
        Kind.BOUND,
        "numbers of payments are such as Postgres can keep",
        'r"[1-9][0-9]{0,17}"',
        'r"[1-9][0-9]*"',
        WRONG,
    ),
    notices(
        Kind.BOUND,
        "a notice that says it is too large is not read",
        "    if told_length(headers) > BODY_BYTES_MAX:\n",
        "    if told_length(headers) > 2**40:\n",
        MEGABYTE,
    ),
    notices(
        Kind.BOUND,
        "a notice that does not say how large it is is read up to the bound",
        "        if len(parts) > BODY_BYTES_MAX:\n",
        "        if len(parts) > 2**40:\n",
        MEGABYTE,
    ),
    notices(
        Kind.BOUND,
        "the log of refused notices has a line a second",
        "        if now - last < LOG_SECONDS:\n",
        "        if now - last < 0:\n",
        f"{NOTICES}::test_the_log_of_a_flood_has_a_line_a_second",
    ),
    settling(
        Kind.BOUND,
        "notices that wait have a bound",
        "        if len(self._queue) >= QUEUED_MAX:\n",
        "        if len(self._queue) >= 2**40:\n",
        TOGETHER,
    ),
    settling(
        Kind.BOUND,
        "one transaction settles no more notices than it may",
        "range(min(len(self._queue), NOTICES_MAX))",
        "range(len(self._queue))",
        TOGETHER,
    ),
    paying(
        Kind.CONDITION,
        "a payment is begun by the terms of now",
        '    row = await lookups.event_by_slug(connection, event.row.slug)\n    if row.payment == "none":',
        '    row = event.row\n    if row.payment == "none":',
        f"{PAYING}::test_the_terms_are_those_of_now_whatever_the_gateway_remembers",
    ),
    paying(
        Kind.CONDITION,
        "no payment is begun where no money is asked for",
        '    if row.payment == "none":\n',
        '    if row.payment == "nothing":\n',
        f"{PAYING}::test_an_event_that_asks_for_no_money_has_no_payments",
    ),
    paying(
        Kind.DEDUPE,
        "the provider is asked once for a payment it answered",
        "    if begun.state in OPEN and begun.checkout is None:\n",
        "    if begun.state in OPEN:\n",
        f"{PAYING}::test_to_begin_again_asks_the_provider_once",
    ),
    paying(
        Kind.CONDITION,
        "a payment stays with the provider it was begun with",
        "    provider = desk.providers.get(payment.provider)\n",
        "    provider = desk.provider\n",
        f"{TELLING}::test_a_payment_stays_with_whom_it_was_begun_and_those_who_ask_have_a_bound",
        more=(
            (
                "    if provider is None:\n        raise NobodyIsPaid\n    if desk",
                "    assert provider\n    if desk",
            ),
        ),
    ),
    paying(
        Kind.CONDITION,
        "where nobody is paid no payment is begun",
        "                raise NobodyIsPaid\n",
        "",
        f"{TELLING}::test_where_nobody_is_paid_no_payment_is_begun",
    ),
    paying(
        Kind.BOUND,
        "buyers for whom a provider is asked at once have a bound",
        "    if desk.asking >= ASKING_MAX:\n",
        "    if desk.asking >= 2**40:\n",
        f"{TELLING}::test_a_payment_stays_with_whom_it_was_begun_and_those_who_ask_have_a_bound",
    ),
    shown(
        Kind.CONDITION,
        "how to pay is shown while one can",
        "    checkout = payment.checkout if payment.state in OPEN else None\n",
        "    checkout = payment.checkout\n",
        f"{PAYING}::test_a_hold_is_paid_for_and_is_an_order",
    ),
    following(
        Kind.ASK_AGAIN,
        "a late payment is asked for at once by who settled it",
        "            await stream.append(entries)\n",
        "            pass\n",
        f"{LATE}::test_the_same_seats_are_bought_again_while_they_are_free",
    ),
    following(
        Kind.BOUND,
        "late payments that one gateway follows have a bound",
        "        if len(self.followed) < FOLLOWED_MAX:\n",
        "        if len(self.followed) < 2**40:\n",
        f"{TELLING}::test_what_is_told_and_followed_has_a_bound",
    ),
    settle(
        Kind.COUNT,
        "a payment whose rows contradict each other fails alone",
        "            return [answer for one in notices for answer in await _decide(connection, [one])]\n",
        "            raise\n",
        f"{SETTLE}::test_a_payment_whose_rows_contradict_each_other_fails_alone",
    ),
    settle(
        Kind.CONSTRAINT,
        "a notice that a constraint refuses fails alone",
        "        except (AssertionError, psycopg.IntegrityError, psycopg.DataError):\n",
        "        except (AssertionError, psycopg.DataError):\n",
        f"{SETTLE}::test_an_intent_that_is_another_payments_fails_alone",
    ),
    late(
        Kind.CONDITION,
        "a late payment whose seats were refused is resolved",
        '    hold: str = ""\n',
        "    hold: str\n",
        "tests/store/payments/test_late.py::test_refused_seats_send_the_money_back",
        f"{LATE}::test_the_money_goes_back_where_somebody_else_has_them",
    ),
    late(
        Kind.CONDITION,
        "a late payment buys its new hold only while that is alive",
        "    if fate is not HoldFate.ALIVE:",
        "    if False and fate is not HoldFate.ALIVE:",
        "tests/store/payments/test_late.py::test_seats_that_were_given_and_lost_again_send_the_money_back",
    ),
]
