"""The storm: what is drawn, what a sink takes for genuine, what is read from the tables, and a small one."""

from __future__ import annotations

import inspect
import itertools
import json
import urllib.error
import urllib.request
from collections import Counter
from datetime import UTC, datetime

import pytest
from standardwebhooks.webhooks import Webhook

from bench.evidence import Finding
from bench.payments import storm
from bench.payments.storming import rows as tables
from bench.payments.storming.evidence import Book, Intent, Rows
from bench.payments.storming.judge import KINDS, judge
from bench.payments.storming.plan import DECK, LATE_SHARE, Victim, blows, fates
from bench.payments.storming.results import LONG_ENOUGH, Result, summed_up
from bench.payments.storming.show import LINES
from bench.payments.storming.sink import sinking
from bench.target import StageEvent
from onsale.processes import throwaway_stack
from store import outbox
from store.prices import PriceTerms, price_of
from tests.bench.test_storm_judge import RIGHT
from tests.store.payments.paying import begun, notice, told
from tests.store.payments.test_settle import event  # noqa: F401
from tests.store.test_holds import HOLD, PLAN, conn, hold  # noqa: F401
from tests.store.test_holds import event as free_event  # noqa: F401

SECRET = "whsec_" + "c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0"
HAS_PAYMENTS = {"payments", "chores"} <= inspect.signature(throwaway_stack).parameters.keys()


def test_the_same_seed_gives_the_same_storm():
    assert fates(1, 50, 2) == fates(1, 50, 2) != fates(2, 50, 2)
    first, again, other = (list(itertools.islice(blows(seed), 20)) for seed in (1, 1, 2))
    assert first == again != other


def test_a_tenth_is_late_on_every_event_alike():
    made = fates(3, 1_000, 2)
    late = Counter(fate.event for fate in made if fate.late_by_seconds)
    assert late == {0: 50, 1: 50}
    assert sum(late.values()) == LATE_SHARE * len(made)
    assert {fate.quantity for fate in made} == {1, 2, 3}
    assert all(any(getattr(fate, what) for fate in made) for what in ("declined", "impatient", "keyed"))


def test_a_short_storm_has_killed_each_kind():
    assert {blow.victim for blow in itertools.islice(blows(5), len(DECK))} == set(Victim)


def deliver(url, secret, message="msg_1", body=b'{"type":"order.paid"}'):
    now = datetime.now(UTC)
    signature = Webhook(secret).sign(message, now, body.decode())
    head = {"webhook-id": message, "webhook-timestamp": str(int(now.timestamp()))}
    asked = urllib.request.Request(url, body, head | {"webhook-signature": signature})
    try:
        with urllib.request.urlopen(asked, timeout=5) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        with error:
            return error.code


def test_the_sink_counts_what_is_well_signed_and_takes_nothing_else():
    with sinking() as sink:
        sink.secret = SECRET
        assert [deliver(sink.url, SECRET), deliver(sink.url, SECRET)] == [204, 204]
        assert deliver(sink.url, "whsec_" + "b3RoZXJvdGhlcm90aGVyb3RoZXJvdGhlcm8=", "msg_2") == 400
        assert (sink.got(), sink.not_genuine) == ({"msg_1": 2}, 1)


@pytest.mark.parametrize("price", [1, 99, 100, 1_999, 2_020, 12_345, 100_000])
def test_the_storm_works_out_by_itself_what_a_seat_costs(price):
    terms = PriceTerms(tables.FEE_MINOR, tables.FEE_BASIS_POINTS, 1_900)
    assert tables.price_with_fee(price) == price_of(price, terms).total_minor


@pytest.fixture
def sold(conn, event, monkeypatch):  # noqa: F811
    """A payment that bought its hold, one that came late, and the rows of both."""
    monkeypatch.setattr(tables, "FEE_BASIS_POINTS", 0)
    other = HOLD + 65_536
    hold(conn, event, places=0)
    hold(conn, event, hold_id=other, buyer="bob", seats=(5,), places=0)
    bought, late = begun(conn, event), begun(conn, event, other, "bob")
    over = "UPDATE hold SET expires_at = clock_timestamp() - interval '1 hour' WHERE hold_id = %s"
    conn.execute(over, [other])
    told(conn, notice(bought), notice(late))
    return StageEvent(event, "gig", PLAN), bought, late


def test_what_is_read_is_what_the_judge_needs(conn, sold):  # noqa: F811
    on_sale, bought, late = sold
    read = tables.payments(conn, [on_sale])
    assert [(row.id, row.state, row.money) for row in read] == [
        (bought.id, "succeeded", True),
        (late.id, "refund_due", True),
    ]
    holds = {row.hold_id: row for row in tables.holds(conn, [on_sale])}
    assert (holds[HOLD].state, holds[HOLD].seats) == ("paid", (3, 4))
    assert holds[HOLD].worth_minor == bought.amount_minor
    assert (holds[late.hold_id].seats, holds[late.hold_id].worth_minor) == ((), 0)
    assert tables.unfinished(conn, [on_sale]) == 2
    told_outside = tables.outbox(conn, [on_sale])
    assert [(row.kind, row.payment, row.amount_minor) for row in told_outside] == [
        ("order.paid", bought.id, bought.amount_minor),
        ("payment.refund_due", late.id, late.amount_minor),
    ]
    assert tables.messages(conn, [on_sale]) == {f"msg_{row.id}" for row in told_outside}
    assert tables.paid_during(conn, [on_sale], 0.0, 4e9) == 2
    assert tables.paid_during(conn, [on_sale], 0.0, 1.0) == 0
    assert tables.notices(conn, [on_sale]) == 2


def rows_of(conn, on_sale):  # noqa: F811
    payments, refunds = tables.payments(conn, [on_sale]), tables.refunds(conn, [on_sale])
    intents = [
        Intent(str(one.intent), one.id, "succeeded", one.amount_minor, one.refunded_minor, 0)
        for one in payments
    ]
    taken = sum(one.amount_minor for one in payments)
    back = sum(one.amount_minor for one in refunds if one.state == "refunded")
    messages = dict.fromkeys(tables.messages(conn, [on_sale]), 1)
    told_outside, holds = tables.outbox(conn, [on_sale]), tables.holds(conn, [on_sale])
    book = Book(len(payments), taken, back)
    return Rows(payments, holds, refunds, told_outside, intents, [], book, messages)


def test_real_rows_are_judged_right_once_the_money_went_back(conn, sold):  # noqa: F811
    on_sale, _, late = sold
    assert {finding.kind for finding in judge(rows_of(conn, on_sale))} == {"unanswered", "unbalanced"}
    conn.execute("UPDATE refund SET state = 'refunded', refunded_at = now(), provider_refund = 're_1'")
    conn.execute(
        "UPDATE payment SET state = 'refunded', refunded_minor = amount_minor, refund_due_minor = 0"
        " WHERE id = %s",
        [late.id],
    )
    body = {"payment": late.id, "refund": 1, "amount_minor": late.amount_minor}
    outbox.write(conn, on_sale.id, outbox.Told.PAYMENT_REFUNDED, body)
    assert judge(rows_of(conn, on_sale)) == []
    assert tables.reasons(conn, [on_sale]) == {"late": 1}
    conn.execute("UPDATE seat SET state = 'available', hold_id = NULL WHERE seat_no = 4")
    assert {finding.kind for finding in judge(rows_of(conn, on_sale))} == {"unanswered", "unbalanced"}


def test_findings_are_counted_by_kind_and_each_kind_is_shown():
    result = summed_up(Result(1, 10), RIGHT, [Finding("misled", "ann"), Finding("alert", "gateway-1")])
    assert {kind: count for kind, count in result.counts.items() if count} == {"misled": 1, "other": 1}
    assert not result.passed
    assert [kind for kind, _ in LINES] == [*KINDS, "other"]
    assert (result.orders, result.reacquired, result.refunded, result.messages) == (2, 1, 1, 5)
    assert result.as_json()["passed"] is False


def test_a_storm_in_which_something_never_took_place_has_not_passed():
    empty = Result(1, LONG_ENOUGH)
    assert {"orders", "refunded", "reacquired", "gateway killed"} <= set(empty.never)
    assert summed_up(Result(1, 10), RIGHT, []).passed


def test_the_command_tells_by_its_exit_code(monkeypatch, tmp_path, capsys):
    results = [summed_up(Result(1, 10), RIGHT, []), Result(1, 10)]
    monkeypatch.setattr(storm, "storm", lambda holds, seed, tell: results.pop(0))
    assert storm.main(["--holds", "5", "--json", str(tmp_path / "out.json")]) == 0
    assert json.loads((tmp_path / "out.json").read_text())["passed"] is True
    assert storm.main(["--holds", "5"]) == 1
    assert "never happened: orders" in capsys.readouterr().out


@pytest.mark.faults
@pytest.mark.skipif(not HAS_PAYMENTS, reason="a stack has no payment provider or chores yet")
def test_all_money_of_a_small_storm_is_accounted_for():
    result = storm.storm(24, seed=7, ttl_seconds=3)
    assert result.findings == []
    assert result.passed
    assert result.orders > 0
