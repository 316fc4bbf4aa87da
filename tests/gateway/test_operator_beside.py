"""Prometheus is told how what is done beside the sale stands, and Postgres is asked seldom for it."""

from __future__ import annotations

import asyncio
from typing import Any

import psycopg
import pytest
from prometheus_client.parser import text_string_to_metric_families

from gateway.operators import beside as told_by
from gateway.operators.beside import Whole
from store import beside
from store.beside import Beside, Waiting
from store.chores import runs
from store.engine_numbers import DatabaseNumbers, StreamNumbers
from store.fleet.numbers import FleetNumbers
from tests.gateway.test_operators import KEY, app_for, ask

PATH = "/v1/operator/metrics"
OLDER_PATH = "/v1/operator/chores/metrics"
NOTHING = Beside([], 0, {}, 0, {}, {}, {}, {}, Waiting(), Waiting(), [])
NO_FLEET = FleetNumbers([], {}, {}, [], 0, 0)
SMALL = DatabaseNumbers(9_000_000, 3, 97, 0.5, 100, 2, 0)


@pytest.fixture
def app(engine_urls):
    return app_for(engine_urls)


def get(app, key=KEY, times=1, path=PATH):
    """The answers to calls that come in the same moment."""

    async def all_at_once():
        calls = [ask(app, "GET", path, b"", f"Bearer {key}") for _ in range(times)]
        return await asyncio.gather(*calls)

    return asyncio.run(all_at_once())


def numbers(text: str) -> dict[tuple[str, ...], float]:
    """(name, label values …) → value."""
    return {
        (sample.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_everything_is_told_by_name_and_few_labels(app, database_url):
    with psycopg.connect(database_url, autocommit=True) as conn:
        runs.enlist(conn, [("nap", 10, False)])
        runs.began(conn, "nap", "host:1")
        how: dict[str, Any] = {
            "done": 7,
            "error": "it failed",
            "more": False,
            "position": None,
            "jitter": 1.0,
        }
        runs.ended(conn, "nap", "host:1", duration_ms=120, **how)
    [answer] = get(app)
    assert answer.status == 200
    found = numbers(answer.text)
    assert found["onsale_chore_done", "nap"] == 7
    assert found["onsale_chore_duration_seconds", "nap"] == 0.12
    assert (found["onsale_chore_failures", "nap"], found["onsale_chore_late", "nap"]) == (1, 0)
    assert found["onsale_chore_runs_total", "nap"] == 1
    ended = found["onsale_chore_ended_timestamp_seconds", "nap"]
    assert ended >= found["onsale_chore_started_timestamp_seconds", "nap"] > 1e9
    assert {one[1:] for one in found if one[0] == "onsale_outbox_unread"} == {
        ("webhooks",), ("mail",), ("figures",)
    }  # fmt: skip
    assert found["onsale_webhooks_tried", "set_aside"] == 0


def test_numbers_are_told_as_they_are():
    found = numbers(
        told_by.text_of(
            Whole(
                Beside(
                    chores=[],
                    stuck_refunds=2,
                    unread={"webhooks": Waiting(60, 9.5)},
                    done=1_234,
                    attempts={"delivered": 5, "failed": 6},
                    aside={"dead": 3},
                    subscribers={"disabled": 1},
                    payments={"late": Waiting(4, 70.5), "canceled": Waiting(8, 1.0)},
                    refunds_due=Waiting(5, 50.0),
                    mails_due=Waiting(6, 60.0),
                    rooms=[],
                ),
                NO_FLEET,
                SMALL,
                10_000_000,
                StreamNumbers(5_000, 0, 700, 4, 1, True),
            ),
            3.5,
        ).decode()
    )
    assert found["onsale_beside_age_seconds",] == 3.5
    assert found["onsale_stuck_refunds",] == 2
    assert (found["onsale_outbox_unread", "webhooks"], found["onsale_outbox_unread", "mail"]) == (60, 0)
    assert found["onsale_outbox_oldest_seconds", "webhooks"] == 9.5
    assert found["onsale_webhooks_done_total",] == 1_234
    assert [found["onsale_webhooks_tried", one] for one in ("delivered", "failed", "dead")] == [5, 6, 0]
    assert [found["onsale_webhooks_aside", one] for one in ("waiting", "dead")] == [0, 3]
    assert [found["onsale_subscribers", one] for one in ("active", "disabled")] == [0, 1]
    assert [found["onsale_payments", one] for one in ("created", "late", "canceled")] == [0, 4, 8]
    assert found["onsale_payments_oldest_seconds", "late"] == 70.5
    assert (found["onsale_refunds_due",], found["onsale_refunds_due_oldest_seconds",]) == (5, 50)
    assert (found["onsale_mails_due",], found["onsale_mails_due_oldest_seconds",]) == (6, 60)
    assert (found["onsale_database_bytes",], found["onsale_database_max_bytes",]) == (9e6, 1e7)
    assert (found["onsale_stream_up",], found["onsale_stream_file_bytes",]) == (1, 700)


def test_a_stream_server_that_does_not_answer_is_told_as_down():
    found = numbers(told_by.text_of(Whole(NOTHING, NO_FLEET, SMALL, 0, None), 0.0).decode())
    assert found["onsale_stream_up",] == 0
    assert ("onsale_stream_memory_bytes",) not in found


def test_the_older_address_tells_the_same(app):
    newer, older = [
        {name for name, *_ in numbers(get(app, path=path)[0].text)} for path in (PATH, OLDER_PATH)
    ]
    assert newer == older


def test_only_operators_are_told(app):
    [answer] = get(app, "wrong")
    assert answer.status == 401


def test_however_many_ask_it_is_read_once_in_a_while_and_the_age_said(app, monkeypatch):
    readings = []

    def read(conn):
        readings.append(conn)
        return NOTHING

    monkeypatch.setattr(beside, "read", read)
    now = [1_000.0]
    monkeypatch.setattr(told_by, "monotonic", lambda: now[0])
    assert [answer.status for answer in get(app, times=5)] == [200] * 5
    now[0] += told_by.KEPT_SECONDS - 1
    [answer] = get(app)
    assert numbers(answer.text)["onsale_beside_age_seconds",] == told_by.KEPT_SECONDS - 1
    assert len(readings) == 1
    now[0] += 2
    [answer] = get(app)
    assert numbers(answer.text)["onsale_beside_age_seconds",] == 0
    assert len(readings) == 2


def test_a_reading_that_takes_long_is_kept_longer(app, monkeypatch):
    now = [1_000.0]
    readings = []

    def slow(conn):
        readings.append(conn)
        now[0] += 2.0
        return NOTHING

    monkeypatch.setattr(beside, "read", slow)
    monkeypatch.setattr(told_by, "monotonic", lambda: now[0])
    get(app)
    now[0] += told_by.REST * 2.0
    get(app)
    assert len(readings) == 1
    now[0] += 1.0
    get(app)
    assert len(readings) == 2


def test_while_postgres_is_away_old_numbers_are_not_told_as_new(app, monkeypatch):
    def away(conn):
        raise psycopg.OperationalError("gone")

    monkeypatch.setattr(beside, "read", away)
    [answer] = get(app)
    assert (answer.status, answer.json["code"]) == (503, "unavailable")
