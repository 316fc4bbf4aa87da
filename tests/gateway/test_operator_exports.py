"""The operators' HTTP for exports: who may have what, as files, few at once."""

from __future__ import annotations

import asyncio
import threading
from types import SimpleNamespace

import psycopg
import pytest

from gateway.operators import exports
from store import sales
from store.console.export import COLUMNS, What
from store.operators.words import Role
from store.payments import settlement_csv
from store.words import HoldKind
from tests.gateway.rig import EVENT, gateway, make_event, scenario, until
from tests.gateway.test_live import key_of
from tests.store.calling_off.calling import SAID, paid_event, sold
from tests.store.test_holds import PLAN

KEY = "an operator key of the tests"
HEAD = {"Authorization": f"Bearer {KEY}"}
PATH = f"/v1/operator/events/{EVENT}/export"


@pytest.fixture
def event(database_url):
    return make_event(database_url)


@pytest.fixture
def settled(database_url):
    """A paid order, a complimentary one and four by hand."""
    with psycopg.connect(database_url, autocommit=True) as conn:
        number = paid_event(conn)
        sold(conn, number)
        for seat in PLAN.seats[90:94]:
            sales.sell(conn, number, PLAN, [seat.guid], {}, "bob", HoldKind.BOX_OFFICE, SAID)


async def get(served, path, head=HEAD):
    return await served.http("GET", f"{PATH}/{path}", headers=head)


@scenario
async def test_each_export_is_a_file_of_its_kind(engine_urls, event):
    async with gateway(engine_urls, operator_key=KEY) as served:
        for what in What:
            told = await get(served, f"{what}.csv")
            assert told.status == 200
            assert told.headers["content-type"] == "text/csv; charset=utf-8"
            assert told.headers["content-disposition"] == f'attachment; filename="{EVENT}-{what}.csv"'
            assert told.body.decode().splitlines()[0] == ",".join(COLUMNS[what])
        seats = await get(served, "seats.json")
        assert (seats.headers["content-type"], len(seats.json())) == ("application/json", 100)
        assert served.app.api.state.exports == 0


@scenario
async def test_what_names_people_is_for_owners_and_is_audited(engine_urls, event):
    viewer = key_of(engine_urls.database_url, Role.VIEWER)
    head = {"Authorization": f"Bearer {viewer.secret}"}
    async with gateway(engine_urls, operator_key=KEY) as served:
        for what in ("orders.csv", "buyers.json"):
            refused = await get(served, what, head)
            assert (refused.status, refused.json()["code"]) == (403, "role_required")
        assert (await get(served, "decisions.csv", head)).status == 200
        assert (await get(served, "orders.csv")).status == 200
        rows = await served.http("GET", f"/v1/operator/events/{EVENT}/audit", headers=HEAD)
        assert [row["what"] for row in rows.json()["audit"]] == [{"change": "export", "what": "orders"}]


@scenario
async def test_what_is_wrong_is_said(engine_urls, event, monkeypatch):
    async with gateway(engine_urls, operator_key=KEY) as served:
        assert (await get(served, "money.csv")).status == 400
        assert (await get(served, "seats.xls")).status == 400
        nowhere = await served.http("GET", "/v1/operator/events/nowhere/export/seats.csv", headers=HEAD)
        assert (nowhere.status, nowhere.json()["code"]) == (404, "unknown_event")
        monkeypatch.setattr(exports, "EXPORTS_MAX", 0)
        busy = await get(served, "seats.csv")
        assert (busy.status, busy.json()["code"]) == (503, "exports_busy")


@scenario
async def test_the_settlement_is_a_file_of_pieces_among_the_exports(engine_urls, settled, monkeypatch):
    monkeypatch.setattr(settlement_csv, "LINES_AT_A_TIME", 2)
    path = "/v1/operator/events/gig/settlement.csv"
    async with gateway(engine_urls, operator_key=KEY) as served:
        told = await served.http("GET", path, headers=HEAD)
        assert (told.status, told.headers["transfer-encoding"]) == (200, "chunked")
        assert told.headers["content-type"] == "text/csv; charset=utf-8"
        assert told.headers["content-disposition"] == 'attachment; filename="settlement-gig.csv"'
        assert [line.split(",")[3] for line in told.body.decode().splitlines()] == [
            "kind", "paid", "complimentary", *["box_office"] * 4
        ]  # fmt: skip
        await until(lambda: served.app.api.state.exports == 0)
        nowhere = await served.http("GET", "/v1/operator/events/nowhere/settlement.csv", headers=HEAD)
        assert (nowhere.status, nowhere.json()["code"]) == (404, "unknown_event")
        monkeypatch.setattr(exports, "EXPORTS_MAX", 0)
        busy = await served.http("GET", path, headers=HEAD)
        assert (busy.status, busy.json()["code"]) == (503, "exports_busy")


@scenario
async def test_one_that_is_still_connecting_counts_and_who_is_refused_is_not_audited(
    engine_urls, event, monkeypatch
):
    connecting, go_on = threading.Event(), threading.Event()

    def connect(*given, **more):
        connecting.set()
        assert go_on.wait(10), "the second was to be refused meanwhile"
        return psycopg.connect(*given, **more)

    monkeypatch.setattr(exports, "EXPORTS_MAX", 1)
    names = {"Connection": psycopg.Connection, "OperationalError": psycopg.OperationalError}
    monkeypatch.setattr(exports, "psycopg", SimpleNamespace(connect=connect, **names))
    async with gateway(engine_urls, operator_key=KEY) as served:
        first = asyncio.create_task(get(served, "seats.csv"))
        await until(connecting.is_set)
        try:
            async with asyncio.timeout(5):
                busy = await get(served, "orders.csv")
        finally:
            go_on.set()
        assert (busy.status, busy.json()["code"], (await first).status) == (503, "exports_busy", 200)
        rows = await served.http("GET", f"/v1/operator/events/{EVENT}/audit", headers=HEAD)
        assert rows.json()["audit"] == []
        await until(lambda: served.app.api.state.exports == 0)
        nowhere = await served.http("GET", "/v1/operator/events/nowhere/export/seats.csv", headers=HEAD)
        assert (nowhere.status, served.app.api.state.exports) == (404, 0)


@scenario
async def test_who_reads_nothing_keeps_nobody_from_theirs(engine_urls, event, monkeypatch):
    monkeypatch.setattr(exports, "IDLE_SECONDS_MAX", 1)
    monkeypatch.setattr(exports, "export", lambda *_: iter([b"x" * 1_000_000] * 1_000))
    async with gateway(engine_urls, operator_key=KEY) as served:
        _, writer = await asyncio.open_connection("127.0.0.1", served.port)
        head = f"Host: x\r\nAuthorization: Bearer {KEY}"
        writer.write(f"GET {PATH}/seats.csv HTTP/1.1\r\n{head}\r\n\r\n".encode())
        await until(lambda: getattr(served.app.api.state, "exports", 0) == 1)
        await until(lambda: served.app.api.state.exports == 0)
        writer.close()
