"""What is not ours, does not fit or does not come from the provider is refused: nothing changes, it is
counted, and the log says nothing of anybody.
"""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import json
import logging
import time
import urllib.request

import pytest

from gateway.payments import notices, settling
from gateway.payments.notices import BODY_BYTES_MAX
from gateway.problems import Busy
from store.payments.settle import NOTICES_MAX, Settled
from store.payments.states import PaymentState
from tests.gateway.payments.till import notice_of
from tests.gateway.rig import scenario, until

EVERYTHING = """
SELECT (SELECT json_agg(payment.* ORDER BY id) FROM payment)::text,
       (SELECT json_agg(payment_notice.*) FROM payment_notice)::text,
       (SELECT json_agg(hold.* ORDER BY hold_id) FROM hold)::text,
       (SELECT json_agg(seat.* ORDER BY seat_no) FROM seat WHERE state <> 'available')::text,
       (SELECT count(*) FROM outbox), (SELECT count(*) FROM refund)
"""
ANOTHERS = "v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4="
DAY = 86_400.0


@pytest.fixture
def owed(till):
    """A payment that was begun, and its notice."""
    payment = till.begun(till.hold())
    return payment, notice_of(payment)


WRONG = {
    "no signature": ({"signature": ""}, {}, 400, "bad_signature"),
    "another's signature": ({"signature": ANOTHERS}, {}, 400, "bad_signature"),
    "no such form of signature": ({"signature": "v1"}, {}, 400, "bad_signature"),
    "not of base64": ({"signature": "v1,???"}, {}, 400, "bad_signature"),
    "an old timestamp": ({"at": time.time() - DAY}, {}, 400, "notice_too_old"),
    "a timestamp of tomorrow": ({"at": time.time() + DAY}, {}, 400, "notice_too_old"),
    "another amount": ({}, {"amount_minor": 1}, 409, "amount_mismatch"),
    "another currency": ({}, {"currency": "USD"}, 409, "amount_mismatch"),
    "a payment nobody began": ({}, {"metadata": {"payment": "77"}}, 404, "unknown_payment"),
    "no payment of ours": ({}, {"metadata": {}}, 404, "unknown_payment"),
    "a number that is none": ({}, {"metadata": {"payment": "9" * 30}}, 404, "unknown_payment"),
    "a number with signs": ({}, {"metadata": {"payment": "-1"}}, 404, "unknown_payment"),
    "another intent": ({}, {"id": "pi_other"}, 404, "unknown_payment"),
    "an amount beyond all": ({}, {"amount_minor": 10**30}, 400, "bad_notice"),
    "an id Postgres cannot keep": ({}, {"id": "pi\x00"}, 400, "bad_notice"),
    "an amount that is none": ({}, {"amount_minor": "9000"}, 400, "bad_notice"),
    "another provider": ({"provider": "stripe"}, {}, 404, "unknown_provider"),
}  # fmt: skip


@pytest.mark.parametrize("stays", [True, False])
@pytest.mark.parametrize(("sent", "data", "status", "code"), WRONG.values(), ids=WRONG.keys())
def test_what_cannot_be_believed_changes_nothing(till, owed, caplog, sent, data, status, code, stays):
    payment, _ = owed
    before = till.both.query(EVERYTHING)
    with caplog.at_level(logging.DEBUG, "onsale"):
        answered, problem = till.tell(notice_of(payment, **data), stays=stays, **sent)
    assert (answered, problem["code"]) == (status, code)
    assert problem["detail"]
    assert till.both.query(EVERYTHING) == before
    provider = "unknown" if code == "unknown_provider" else "simulated"
    assert till.answered(code, provider) == 1
    said = [record.getMessage() for record in caplog.records if record.name == "onsale.gateway"]
    assert any(code in line for line in said)
    for secret in ("ann", "9000", payment["checkout"]["url"].rpartition("/")[2], "whsec", "v1,"):
        assert not any(secret in line for line in said), (secret, said)


@pytest.mark.parametrize("body", [b"", b"[]", b'{"type":"payment.succeeded"}', b"{" * 5_000, b"\xff", b"nul"])
def test_what_is_signed_well_and_no_notice_is_refused(till, owed, body):
    before = till.both.query(EVERYTHING)
    status, problem = till.tell(body)
    assert (status, problem["code"]) in ((400, "bad_notice"), (400, "bad_signature"))
    assert till.both.query(EVERYTHING) == before


def test_a_megabyte_of_json_is_refused_before_it_is_read(till, owed):
    before = till.both.query(EVERYTHING)
    body = json.dumps({"type": "payment.succeeded", "data": ["x"] * 200_000}).encode()
    assert len(body) > 1_000_000
    connection = http.client.HTTPConnection("127.0.0.1", till.both.port)
    with contextlib.closing(connection):
        connection.putrequest("POST", "/v1/payments/notices/simulated")
        connection.putheader("content-length", str(len(body)))
        connection.endheaders()
        answer = connection.getresponse()
        assert (answer.status, json.loads(answer.read())["code"]) == (413, "body_too_large")
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", till.both.port)) as chunked:
        parts = [body[at : at + 50_000] for at in range(0, BODY_BYTES_MAX + 50_000, 50_000)]
        chunked.request("POST", "/v1/payments/notices/simulated", iter(parts), encode_chunked=True)
        assert chunked.getresponse().status == 413
    assert till.both.query(EVERYTHING) == before
    assert till.answered("body_too_large") == 2


def test_the_same_notice_however_often_is_200_and_done_once(till, owed):
    _, notice = owed
    assert till.tell(notice) == (200, {"payment": "1", "state": "succeeded", "repeated": False})
    before = till.both.query(EVERYTHING)
    for number, stays in (("msg_1", False), ("msg_1", True), ("msg_2", False)):
        assert till.tell(notice, number=number, stays=stays)[1]["repeated"]
    after = till.both.query(EVERYTHING)
    assert [row[:1] + row[2:] for row in after] == [row[:1] + row[2:] for row in before]
    assert (till.answered("settled"), till.answered("repeated")) == (1, 3)
    with urllib.request.urlopen(f"http://127.0.0.1:{till.both.port}/metrics") as told:
        lines = told.read().decode().splitlines()
    assert 'onsale_gateway_payments_became_total{state="succeeded"} 1.0' in lines
    assert 'onsale_gateway_payments_became_total{state="late"} 0.0' in lines


def test_a_notice_whose_address_has_a_query_is_heard_too(till, owed):
    _, notice = owed
    assert till.tell(notice, provider="simulated?from=here")[0] == 200


def test_what_onsale_does_not_act_on_is_taken_and_not_remembered(till, owed):
    before = till.both.query(EVERYTHING)
    status, heard = till.tell(b'{"type":"account.updated","data":{"anything":[1]}}')
    assert (status, heard) == (200, {"payment": None, "state": None, "repeated": False})
    assert till.both.query(EVERYTHING) == before
    assert till.answered("ignored") == 1


def test_the_log_of_a_flood_has_a_line_a_second(till, caplog):
    with caplog.at_level(logging.WARNING, "onsale.gateway"):
        began = time.monotonic()
        for _ in range(50):
            till.tell(b"{}", signature="v1,AAAA")
        seconds = time.monotonic() - began
    lines = [record for record in caplog.records if "bad_signature" in record.getMessage()]
    assert len(lines) <= 1 + seconds / notices.LOG_SECONDS
    assert till.answered("bad_signature") == 50


def test_a_gateway_without_providers_takes_no_notices():
    assert notices.provider_in("/v1/payments/notices/simulated") == "simulated"
    assert notices.provider_in("/v1/payments/notices/simulated/more") is None
    assert notices.provider_in("/v1/payments") is None


class Pool:
    """Gives a connection when it is allowed to."""

    def __init__(self):
        self.free = asyncio.Event()
        self.asked = 0

    @contextlib.asynccontextmanager
    async def connection(self):
        self.asked += 1
        await self.free.wait()
        yield None


@scenario
async def test_notices_of_one_moment_are_settled_together_and_a_full_queue_says_when(monkeypatch):
    groups = []

    async def settle(_, told):
        groups.append(len(told))
        return [Settled(one, 1, 1, "ann", PaymentState.SUCCEEDED) for one in told]

    monkeypatch.setattr(settling, "settle", settle)
    pool = Pool()
    committed: list[Settled] = []
    desk = settling.Settling(pool, committed.extend)  # type: ignore[arg-type]
    task = asyncio.create_task(desk.run())
    answers = [desk.put(0)]  # type: ignore[arg-type]
    await until(lambda: pool.asked)
    answers += [desk.put(number) for number in range(1, settling.QUEUED_MAX + 1)]  # type: ignore[arg-type]
    with pytest.raises(Busy) as full:
        desk.put(0)  # type: ignore[arg-type]
    assert (full.value.code, full.value.retry_after_seconds) == ("notices_full", 2)
    assert pool.asked == 1
    pool.free.set()
    told = await asyncio.gather(*answers)
    assert [one.payment for one in told] == list(range(settling.QUEUED_MAX + 1))
    assert groups == [1] + [NOTICES_MAX] * (settling.QUEUED_MAX // NOTICES_MAX)
    assert len(committed) == settling.QUEUED_MAX + 1
    task.cancel()
