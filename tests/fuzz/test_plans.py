"""A damaged seating plan is refused with a place and a reason, or is a plan and is read as it was stored."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from store.plan import Plan, PlanError, check, decode, encode
from store.venues.csv_plan import read_csv
from store.venues.pretix import Standing, read_pretix
from store.venues.rows import load_plan, save_venue
from tests.fuzz.mutations import damaged, disturbed
from tests.profiles import searching

PLANS = Path(__file__).parents[1] / "store" / "plans"
PRETIX = [path.read_bytes() for path in sorted(PLANS.glob("*.json"))]
CSV = [path.read_bytes() for path in sorted(PLANS.glob("*.csv"))]
PARSED = [json.loads(raw) for raw in PRETIX]
STORED = [read_pretix(PRETIX[1]), read_csv(CSV[0], name="Playhouse")]


def refused_or_equal(conn: psycopg.Connection, read: Callable[[], Plan]) -> None:
    plan, refusal = None, None
    try:
        plan = read()
    except PlanError as error:
        refusal = error
    if plan is None:
        assert refusal is not None
        assert refusal.place, "it says where"
        assert refusal.reason, "and why"
        assert len(str(refusal).encode()) < 2_000, "in words that can be shown"
        return
    check(plan)
    assert decode(encode(plan)) == plan
    with conn.transaction(force_rollback=True):
        assert load_plan(conn, save_venue(conn, "fuzzed", plan)) == plan


@pytest.fixture(scope="module")
def conn(worker_database):
    worker_database.empty()
    with psycopg.connect(worker_database.url, autocommit=True) as conn:
        yield conn


def test_pretix_files_with_damaged_bytes(conn):
    @searching(250)
    @given(damaged(PRETIX))
    def judge(raw: bytes) -> None:
        refused_or_equal(conn, lambda: read_pretix(raw))

    judge()


def test_pretix_files_with_odd_values(conn):
    standing = {"Parkett": Standing(50, "Gold")}

    @searching(250)
    @given(disturbed(PARSED), st.booleans())
    def judge(value: object, with_standing: bool) -> None:
        raw = json.dumps(value).encode()
        refused_or_equal(conn, lambda: read_pretix(raw, standing=standing if with_standing else None))

    judge()


def test_tables_with_damaged_bytes(conn):
    @searching(300)
    @given(damaged(CSV))
    def judge(raw: bytes) -> None:
        refused_or_equal(conn, lambda: read_csv(raw, name="Playhouse"))

    judge()


def test_stored_plans_with_odd_values_are_never_taken_for_valid_ones(conn):
    """What `encode` wrote, damaged: `decode` and `check` refuse it, or it is a plan like any other."""
    stored = [json.loads(encode(plan)) for plan in STORED]

    def read(raw: bytes) -> Plan:
        plan = decode(raw)
        check(plan)
        return plan

    @searching(250)
    @given(disturbed(stored))
    def judge(value: object) -> None:
        refused_or_equal(conn, lambda: read(json.dumps(value).encode()))

    judge()
