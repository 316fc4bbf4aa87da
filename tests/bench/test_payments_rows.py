"""`bench payments`, in small: the rows it promises, lawful; and what judges it notices what is wrong."""

from __future__ import annotations

import io
import json
from contextlib import contextmanager
from datetime import UTC, datetime
from types import ModuleType
from typing import cast

import msgspec
import psycopg
import pytest
from rich.console import Console
from standardwebhooks import Webhook
from typer.testing import CliRunner

from bench import show
from bench.effort import Effort
from bench.everything import read_files
from bench.labels import OTHERS, grouped
from bench.page.build import page
from bench.payments import rows_beside, rows_confirm, rows_relay, rows_sweep, run
from bench.payments.begun import Begun
from bench.payments.judging import not_once
from bench.payments.pacing import Pace
from bench.payments.teller import answer_of, signed_request
from bench.report import Curve, Report, at_least, for_the_record
from onsale.commands.bench import app
from onsale.processes import Stack, throwaway_stack
from store.errors import BadRequest
from store.stream.redis_stream import RedisArrivals
from store.subscribers.addresses import ALLOW_PRIVATE

WEBHOOKS = {"deliveries": (4, 800), "deliveries_one_event": (1, 400), "deliveries_400_events": (8, 800)}
SMALL: dict[ModuleType, dict[str, object]] = {
    rows_confirm: {"CONFIRMATIONS": 60, "SEATS": 4_000, "CONNECTIONS": 10, "BACKLOG": 10_000},
    rows_relay: {"LOADS": WEBHOOKS},
    rows_beside: {"SOCKETS": 20, "ROUND_SECONDS": 0.4, "ROUNDS": 3, "WAKING_SECONDS": 0.1},
    rows_sweep: {"RUNNING": 20},
}
BOUGHT = "SELECT id FROM event WHERE slug = 'confirmations'"


@pytest.fixture(scope="module")
def paying_stack():
    """Everything there is for paying, and an owner."""
    env = {ALLOW_PRIVATE: "1"}
    with throwaway_stack(allocators=1, payments=True, chores=True, env=env) as stack:
        yield stack


@pytest.fixture
def measured(paying_stack, monkeypatch):
    @contextmanager
    def with_stack(**_):
        yield paying_stack

    for module, small in SMALL.items():
        for name, value in small.items():
            monkeypatch.setattr(module, name, value)
    for module in (rows_confirm, rows_beside):
        monkeypatch.setattr(module, "throwaway_stack", with_stack)
    monkeypatch.setattr(Effort, "size", lambda effort, whole, quick: whole)

    def measure(group: str) -> Report:
        report = Report({})
        said: list[str] = []
        run.GROUPS[group][0](report, said.append, Effort(quick=True))
        assert said, "a person sees what is going on"
        assert sorted(row.name for row in report.rows) == sorted(run.GROUPS[group][1])
        assert all(row.value > 0 for row in report.rows), report.rows
        assert report.lawful, report.judged
        return report

    return measure


def test_every_notice_buys_its_hold_once_and_what_is_wrong_is_noticed(measured, paying_stack: Stack):
    report = measured("confirming")
    assert report.judged[0].decisions > 0
    assert report.details["confirmations"]["answers"] == [{"200 succeeded": 60}]
    each = report.details["confirmations"]["cpu_us_each"][0]
    assert {"gateway-1", "allocator-1", rows_confirm.FOR_GATEWAYS} < set(each)
    assert report.curves[0].count == 60
    with psycopg.connect(paying_stack.urls.database_url, autocommit=True) as conn:
        [(event,)] = conn.execute(BOUGHT).fetchall()
        assert not_once(conn, event, 90) == [], "with those that warmed up"
        assert len(not_once(conn, event, 91)) == 1
        broken = {
            "DELETE FROM payment_notice WHERE payment_id = 1": 1,
            "UPDATE seat SET state = 'available', hold_id = NULL WHERE state = 'sold' AND seat_no = 1": 2,
            "UPDATE hold SET buyer = 'somebody else' WHERE hold_id = (SELECT max(order_id) FROM payment)": 3,
        }
        for statement, findings in broken.items():
            conn.execute(statement)
            assert len(not_once(conn, event, 90)) == findings, statement


@pytest.mark.parametrize("group", ["relaying", "beside", "sweeping"])
def test_a_group_gives_its_rows_and_what_it_measured_is_lawful(measured, group):
    report = measured(group)
    if group == "relaying":
        received = {name: one["received"] for name, one in report.details["relaying"].items()}
        assert received == {name: [messages] for name, (_, messages) in WEBHOOKS.items()}


def test_a_notice_is_signed_as_standard_webhooks_has_it():
    secret = "whsec_c2VjcmV0IG9mIGEgdGVzdA=="
    begun = Begun(12, "pi_12", 4_500, "EUR")
    notice, body = begun.notice()
    head, _, sent = signed_request(Webhook(secret), notice, body, "x:1", datetime.now(UTC)).partition(
        b"\r\n\r\n"
    )
    lines = head.decode().split("\r\n")
    headers = dict(line.split(": ", 1) for line in lines[1:])
    assert lines[0] == "POST /v1/payments/notices/simulated HTTP/1.1"
    assert int(headers["content-length"]) == len(sent)
    told = Webhook(secret).verify(sent, headers)
    assert told["type"] == "payment.succeeded"
    assert (told["data"]["metadata"], told["data"]["amount_minor"]) == ({"payment": "12"}, 4_500)


def test_answers_are_told_apart():
    assert answer_of(200, b'{"payment":"1","state":"succeeded","repeated":false}') == "200 succeeded"
    assert answer_of(200, b'{"payment":"1","state":"succeeded","repeated":true}') == "200 succeeded again"
    assert answer_of(400, b'{"code":"bad_signature"}') == "400 bad_signature"


def test_a_pace_is_kept_and_runs_dry():
    pace = Pace(100.0, [b""] * 50)
    assert [pace.due(seconds) for seconds in (0.0, 0.1, 0.4, 9.0)] == [0, 10, 40, 50]
    pace.run(cast("RedisArrivals", Fed()))
    assert (pace.fed, pace.ran_dry) == (50, True)


class Fed:
    """A stream that takes everything."""

    def append(self, entries):
        return entries


def test_a_row_that_is_not_there_is_told():
    with pytest.raises(BadRequest, match="There are: confirming, confirmations"):
        run.run_payments(["speed"], print, Effort())


def test_the_command_is_known_and_no_part_of_all():
    told = CliRunner().invoke(app, ["payments", "--help"])
    assert told.exit_code == 0
    assert "--only" in told.output
    assert "no part of all" in " ".join(told.output.split())


def test_the_report_takes_its_json_and_shows_its_rows(tmp_path):
    names = [name for _, rows in run.GROUPS.values() for name in rows]
    rows = [for_the_record(name, [1_234.0], "deliveries/s") for name in names]
    rows[0] = at_least("confirmations", [1_500.0, 1_600.0], "confirmations/s", 1_000)
    curve = Curve.of("a notice, until its order is on disk", [1_000_000] * 50)
    report = Report({"cores": 2}, rows, curves=[curve], failures={"beside": "it broke"})
    report.seconds_by_group = dict.fromkeys(run.GROUPS, 1.0)
    path = tmp_path / "payments.json"
    path.write_text(json.dumps(msgspec.to_builtins(report)))
    found = read_files([path])
    assert found.core is None
    assert found.payments == report
    assert OTHERS not in grouped(found.rows())
    shown = page(found)
    assert "a notice, until its order is on disk" in shown
    assert "beside could not be measured" in shown
    assert "1,550/s" in shown
    console = Console(width=120, file=io.StringIO(), record=True)
    console.print(show.core_report(report))
    assert "confirmations" in console.export_text()
