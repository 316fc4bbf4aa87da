"""The storm: what is drawn, what the provider's journal says, what a sink takes for genuine, what is read
from the tables, the organiser's calls, and a small one.
"""

from __future__ import annotations

import itertools
import json
import urllib.error
import urllib.request
from collections import Counter
from datetime import UTC, datetime
from typing import Any

import pytest
from msgspec.structs import replace
from rich.console import Console
from standardwebhooks.webhooks import Webhook
from typer.testing import CliRunner

from bench.evidence import Finding
from bench.payments import storm
from bench.payments.storming import rows as tables
from bench.payments.storming.calls import Reply
from bench.payments.storming.evidence import Book, Intent, Rows
from bench.payments.storming.journal import Notices, intents_of, notices_of
from bench.payments.storming.judge import KINDS, judge
from bench.payments.storming.office import Contents, Office
from bench.payments.storming.plan import DECK, LATE_SHARE, TAKE_PLACE, TakenBack, Victim, blows, fates
from bench.payments.storming.results import LONG_ENOUGH, Result, Took, summed_up
from bench.payments.storming.show import LINES, storm_panel
from bench.payments.storming.sink import sinking
from bench.payments.storming.stage import hall_for
from bench.target import StageEvent
from onsale.cli import app
from onsale.simulated.book import Asked, Entry, Notice
from onsale.simulated.book import Intent as BookIntent
from store import outbox
from store.audit import Said
from store.calling_off import begin
from store.calling_off.steps import step
from store.prices import PriceTerms, price_of
from tests.bench.test_storm_judge import RIGHT
from tests.gateway.rig import scenario
from tests.store.payments.paying import begun, notice, told
from tests.store.payments.test_settle import event  # noqa: F401
from tests.store.test_holds import HOLD, PLAN, conn, hold  # noqa: F401
from tests.store.test_holds import event as free_event  # noqa: F401

SECRET = "whsec_" + "c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0"


def test_the_same_seed_gives_the_same_storm():
    assert fates(1, 50) == fates(1, 50) != fates(2, 50)
    first, again, other = (list(itertools.islice(blows(seed), 20)) for seed in (1, 1, 2))
    assert first == again != other


def test_who_is_late_comes_first_on_every_event_that_takes_place_alike():
    made = fates(3, 1_000)
    late = Counter(fate.event for fate in made if fate.late_by_seconds)
    assert late == {0: 60, 1: 60}
    assert sum(late.values()) == LATE_SHARE * 1_000
    assert all(fate.late_by_seconds for fate in made[:120])


def test_buyers_ask_for_seats_for_places_and_for_both_and_do_all_that_buyers_do():
    made = fates(3, 1_000)
    assert {fate.quantity for fate in made} == {1, 2, 3}
    assert {(bool(fate.seats), bool(fate.pit + fate.floor)) for fate in made} == {
        (True, False),
        (False, True),
        (True, True),
    }
    assert any(fate.pit for fate in made)
    assert all(any(getattr(fate, what) for fate in made) for what in ("declined", "impatient", "keyed"))
    taken = {fate.event for fate in made if fate.taken_back is not TakenBack.NOTHING}
    assert taken == {0, 1}
    assert {fate.taken_back for fate in made} == set(TakenBack)
    assert all(fate.quantity > 1 for fate in made if fate.taken_back is TakenBack.SOME)
    assert sum(fate.event == TAKE_PLACE for fate in made) == 80


def test_a_hall_has_room_for_all_its_buyers_and_little_more():
    made = [fate for fate in fates(3, 1_000) if fate.event == 0]
    hall = hall_for(made)
    room = {area.guid: area.capacity for area in hall.areas}
    for name, most in (("pit", room["pit"]), ("floor", room["floor"])):
        assert 0 < sum(getattr(fate, name) for fate in made) <= most
    assert sum(fate.seats for fate in made) <= len(hall.seats) < 1.1 * sum(fate.seats for fate in made)


def test_a_short_storm_has_killed_each_kind():
    assert {blow.victim for blow in itertools.islice(blows(5), len(DECK))} == set(Victim)


def made_of(number, kind="payment.succeeded", intent="pi_1"):
    return Entry(notice=Notice(f"msg_{number}", kind, intent, "{}"))


def test_only_a_notice_that_was_held_back_and_came_after_a_later_one_is_overtaken():
    entries = [made_of(0), Entry(held_back="msg_0"), made_of(1, intent="pi_2"), made_of(2, intent="pi_3")]
    entries += [Entry(held_back="msg_2"), Entry(taken="msg_1"), Entry(taken="msg_0"), Entry(taken="msg_2")]
    assert notices_of(entries) == Notices(made=3, sent_twice=0, overtaken=1, crossed=0)


def test_notices_that_were_taken_twice_and_those_of_one_payment_in_another_order_are_counted():
    entries = [made_of(0, "payment.failed"), made_of(1), Entry(taken="msg_1"), Entry(taken_twice="msg_1")]
    entries += [Entry(taken="msg_0"), Entry(taken="msg_0")]
    assert notices_of(entries) == Notices(made=2, sent_twice=1, overtaken=0, crossed=1)


def test_intents_are_what_the_providers_journal_says():
    asked = Asked(2_000, "EUR", "http://shop.example", metadata={"payment": "12", "hold": "7"})
    entries = [Entry(made=BookIntent("pi_1", asked)), Entry(made=BookIntent("pi_2", asked))]
    entries += [Entry(paid="pi_1")]
    assert intents_of(entries) == [
        Intent("pi_1", 12, "succeeded", 2_000, 0, 53),
        Intent("pi_2", 12, "open", 2_000, 0, 0),
    ]


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


class Answers:
    """What gateways answer, one after the other."""

    def __init__(self, *replies: Reply) -> None:
        self.replies = list(replies)
        self.asked: list[tuple[str, dict[str, Any]]] = []

    async def call(self, chance, method, path, body, head):
        self.asked.append((path, json.loads(body)))
        return self.replies.pop(0)


GIG = StageEvent(7, "gig", PLAN)
CONTENTS = Contents(("a-1", "a-2"), {"floor": 1})
UNKNOWN, DONE, CHANGED = Reply(0, {}), Reply(200, {}), Reply(409, {"code": "order_changed"})


def office_of(*replies: Reply) -> tuple[Office, Answers]:
    answers = Answers(*replies)
    return Office(answers, "key", 1), answers


@scenario
async def test_the_organiser_asks_until_it_is_done_and_takes_no_part_twice():
    office, answers = office_of(UNKNOWN, CHANGED, CHANGED)
    await office.take_back(GIG, "100", CONTENTS, TakenBack.SOME)
    await office.take_back(GIG, "101", CONTENTS, TakenBack.SOME)
    assert [(one.order, one.count) for one in office.returned] == [(100, 1)]
    path, body = answers.asked[0]
    assert path == "/v1/operator/events/gig/orders/100/return"
    assert (body["seats"], body["quantity"], "areas" in body) == (["a-1"], 3, False)


@scenario
async def test_a_closed_office_takes_nothing_and_what_was_under_way_is_done():
    office, answers = office_of(Reply(503, {}), DONE)
    await office.take_back(GIG, "100", Contents((), {"pit": 2}), TakenBack.ALL)
    assert await office.close() == ""
    await office.take_back(GIG, "101", CONTENTS, TakenBack.ALL)
    assert [(one.order, one.count) for one in office.returned] == [(100, 2)]
    assert len(answers.asked) == 2


@scenario
async def test_an_event_counts_as_canceled_once_that_was_answered():
    office, _ = office_of(UNKNOWN, DONE, Reply(404, {}))
    await office.cancel(GIG)
    await office.cancel(GIG)
    assert office.canceled == [7]


@pytest.fixture
def sold(conn, event, monkeypatch):  # noqa: F811
    """A payment that bought its hold, one that came late, and the rows of both."""
    monkeypatch.setattr(tables, "FEE_BASIS_POINTS", 0)
    other = HOLD + 65_536
    hold(conn, event, places=2)
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
    assert (holds[HOLD].state, holds[HOLD].seats, holds[HOLD].places) == ("paid", (3, 4), {0: 2})
    assert holds[HOLD].worth_minor == bought.amount_minor
    assert (holds[late.hold_id].seats, holds[late.hold_id].worth_minor) == ((), 0)
    assert [(one.area, one.capacity, one.held, one.sold) for one in tables.areas(conn, [on_sale])] == [
        (0, 50, 0, 2)
    ]
    assert tables.unfinished(conn, [on_sale]) == 2
    told_outside = tables.outbox(conn, [on_sale])
    assert [(row.kind, row.payment, row.amount_minor) for row in told_outside] == [
        ("order.paid", bought.id, bought.amount_minor),
        ("payment.refund_due", late.id, late.amount_minor),
    ]
    assert tables.messages(conn) == len(told_outside)
    assert tables.paid_during(conn, [on_sale], 0.0, 4e9) == 1
    assert tables.paid_during(conn, [on_sale], 0.0, 1.0) == 0
    assert tables.paid_late(conn, [on_sale]) == 1


def test_an_event_that_is_half_called_off_is_waited_for(conn, event):  # noqa: F811
    begin.cancel(conn, "gig", Said("Olga", "rain"))
    assert tables.unfinished(conn, [StageEvent(event, "gig", PLAN)]) == 1
    while step(conn):
        pass
    assert tables.unfinished(conn, [StageEvent(event, "gig", PLAN)]) == 0


def rows_of(conn, on_sale):  # noqa: F811
    payments, refunds = tables.payments(conn, [on_sale]), tables.refunds(conn, [on_sale])
    intents = [
        Intent(str(one.intent), one.id, "succeeded", one.amount_minor, one.refunded_minor, 0)
        for one in payments
    ]
    taken = sum(one.amount_minor for one in payments)
    back = sum(one.amount_minor for one in refunds if one.state == "refunded")
    told_outside, holds = tables.outbox(conn, [on_sale]), tables.holds(conn, [on_sale])
    messages = {f"msg_{row.id}": 1 for row in told_outside}
    areas, book = tables.areas(conn, [on_sale]), Book(len(payments), taken, back)
    settled = tables.settled(conn, [on_sale])
    return Rows(payments, holds, areas, refunds, told_outside, intents, [], book, messages, settled)


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
    assert (result.orders, result.reacquired, result.refunded, result.messages) == (5, 1, 3, 15)
    assert (result.taken_back, result.taken_in_part, result.canceled) == (1, 1, 1)
    assert (result.with_places, result.with_both, result.standing_minor) == (1, 1, 12_500)
    assert result.as_json()["passed"] is False


def whole() -> Result:
    """Of a storm in which everything took place, as much as it should."""
    result = summed_up(Result(1, 500, notices=Notices(1_000, 200, 100, 1), paid_late=100), RIGHT, [])
    result.add(1_080, 1_080, [], Took.of(20, {"holding and paying": 30.0}, {"a hold": [0.5, 0.1, 0.3]}))
    result.add(1_080, 1_080, [], Took.of(40, {"holding": 30.0}, {}))
    result.paid, result.paid_while_redis_away = 1_000, 250
    result.killed = {victim.value: 1 for victim in Victim}
    return result


def test_a_storm_in_which_everything_took_place_has_passed_and_is_shown():
    result = whole()
    assert (result.never, result.passed) == ([], True)
    assert result.waves[0].waits["a hold"] == {"count": 3, "median": 0.3, "p95": 0.5, "most": 0.5}
    shown = Console(record=True, width=120)
    shown.print(storm_panel(result))
    text = shown.export_text()
    assert "200 sent twice (20.0 %)" in text
    assert "all money has seats or went back" in text


@pytest.mark.parametrize(
    ("other", "what"),
    [
        ({"notices": Notices(1_000, 199, 100, 1)}, "notices sent twice: 19.9 %"),
        ({"notices": Notices(1_000, 200, 99, 1)}, "notices overtaken: 9.9 %"),
        ({"paid_late": 99}, "paid past expiry: 9.9 %"),
        ({"paid_while_redis_away": 249}, "bought while Redis was away: 49.8 %"),
        ({"paid": 999}, "paid of the holds asked for: 99.9 %"),
    ],
)
def test_a_storm_that_fell_short_of_what_it_promises_has_not_passed(other, what):
    result = replace(whole(), **other)
    assert [short.partition(",")[0] for short in result.never] == [what]
    assert not result.passed


def test_a_storm_in_which_something_never_took_place_has_not_passed():
    empty = Result(1, LONG_ENOUGH)
    assert {"orders", "refunded", "reacquired", "an event canceled", "gateway killed"} <= set(empty.never)
    assert summed_up(Result(1, 10), RIGHT, []).passed


def test_the_command_tells_by_its_exit_code(monkeypatch, tmp_path):
    results = [summed_up(Result(1, 10), RIGHT, []), Result(1, 10)]
    monkeypatch.setattr(storm, "storm", lambda holds, seed, tell, keep_in: results.pop(0))
    out = tmp_path / "out.json"
    done = CliRunner().invoke(app, ["storm", "--holds", "10", "--seed", "3", "--json", str(out)])
    assert done.exit_code == 0, done.output
    assert json.loads(out.read_text())["passed"] is True
    done = CliRunner().invoke(app, ["storm", "--holds", "10"])
    assert done.exit_code == 1
    assert "did not take place: orders" in done.output


@pytest.mark.faults
def test_all_money_of_a_small_storm_is_accounted_for():
    result = storm.storm(24, seed=7, ttl_seconds=3)
    assert result.findings == []
    assert result.passed
    assert result.orders > 0
