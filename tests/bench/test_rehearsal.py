"""A rehearsal takes nothing of any buyer, sells the copy out, and judges it."""

from __future__ import annotations

import json
from typing import Any

import psycopg
import pytest
from msgspec.structs import replace
from typer.testing import CliRunner

from bench.rehearsal.copying import make_copy, read_copy
from bench.rehearsal.run import rehearse
from bench.rehearsal.wants import REQUESTS_MAX, house_of, requests_each, wants_of
from bench.rehearsal.words import BUYERS_MAX, EventCopy
from onsale.cli import app
from store import events
from store.errors import NotFound
from store.room import rooms
from store.room.words import Proof, RoomTerms
from store.terms import Terms
from store.venues.make import make
from store.venues.rows import save_venue

PLAN = make("arena", 60, standing=40)


@pytest.fixture
def conn(engine_urls):
    with psycopg.connect(engine_urls.database_url, autocommit=True) as connection:
        venue = save_venue(connection, "arena", PLAN)
        terms: dict[str, Any] = {
            "limits": {"A": 2},
            "seats_per_buyer_max": 4,
            "payment": "required",
            "hold_ttl_seconds": 60,
        }
        events.create_event(connection, "gala", "Gala", venue, PLAN, **terms)
        rooms.make(connection, "gala", RoomTerms(pace=9, proof=Proof.ALWAYS))
        yield connection


def test_plan_terms_limits_and_room_are_copied_and_no_money_is_taken(conn, database_url):
    copy = read_copy(conn, "gala")
    assert (copy.plan, copy.terms.limits, copy.terms.seats_per_buyer_max) == (PLAN, {"A": 2}, 4)
    assert copy.room == RoomTerms(pace=9, proof=Proof.ALWAYS)
    made = make_copy(database_url, copy, gate=False)
    event = events.get_event(conn, made.slug)
    assert (event.state, event.payment, event.fast_gate, event.limits) == ("open", "none", False, {"A": 2})
    assert event.hold_ttl_seconds >= 600, "no hold runs out while it is judged"
    with pytest.raises(NotFound):
        read_copy(conn, "nothing")


def test_everybody_asks_for_more_than_there_is_within_the_bounds():
    copy = EventCopy("gala", PLAN, Terms(), None)
    assert requests_each(copy, 10) == 15
    for buyers in (1, 10, 1_000, BUYERS_MAX):
        assert 1 <= buyers * requests_each(copy, buyers) <= max(buyers, REQUESTS_MAX)
    wants = [json.loads(want) for want in wants_of(copy, 200)]
    assert {next(iter(want)) for want in wants} == {"seats", "best", "areas"}
    assert wants_of(replace(copy, plan=make("hall", 0, standing=9)), 5)


def test_a_copy_is_stormed_with_the_gate_on_and_off_and_every_law_looked_at():
    said = []
    copy = EventCopy("gala", PLAN, Terms(), None)
    done = rehearse(copy, 40, 10_000, lambda phase, done, total: said.append(phase))
    on, off = done.measured.runs
    assert (on.gate, off.gate, off.not_queued) == (True, False, 0)
    assert done.measured.lawful
    for run in (on, off):
        assert run.decided + run.not_queued == run.requests
        assert sum(run.curve) == run.decided
        assert run.seats_held <= house_of(PLAN)
    assert done.sizing.buyers == 10_000
    assert "everybody joins the lobby" in said


def test_the_command_refuses_what_is_out_of_bounds(engine_urls, conn, monkeypatch):
    for name, value in engine_urls.as_env().items():
        monkeypatch.setenv(name, value)
    for options in (["gala", "--buyers", "0"], ["gala", "--buyers", "1000000"], ["nothing"]):
        done = CliRunner().invoke(app, ["rehearse", *options, "--json"])
        assert done.exit_code == 1
        assert json.loads(done.stdout)["code"] in ("invalid_rehearsal", "unknown_event")
