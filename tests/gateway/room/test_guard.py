"""What stands before a place: who is turned away is told why and counted; a quiet room asks for no proof."""

from __future__ import annotations

import asyncio
from typing import Any, ClassVar

import aiohttp.web
import altcha
import psycopg
import pytest

from gateway.addresses import Address
from gateway.problems import Busy
from gateway.room import human, refusals
from gateway.room.guard import Asking, Guard, Meter
from gateway.room.human import HumanCheckFailed
from gateway.room.limits import TurnedAway
from gateway.room.proof import ProofRefused
from gateway.room.settings import RoomSettings
from store import lookups
from store.errors import Unavailable
from store.room import refused
from store.room.refused import Reason
from store.room.words import Proof, RoomTerms
from tests.gateway.rig import scenario

KEY = "a key for the waiting room of these tests"
HOME = Address("198.51.100.1")


class Clock:
    now = 60_000.0

    def __call__(self):
        return self.now


def away() -> Any:
    """A pool whose database is away."""

    class Pool:
        def connection(self):
            raise psycopg.OperationalError("away")

    return Pool()


def guard_of(clock=None, pool=None, **settings):
    most: dict[str, Any] = {
        "key": KEY,
        "joins_per_address_minute": 0,
        "joins_per_buyer_minute": 0,
        "proof_tries_max": 4,
    }
    return Guard(RoomSettings(**(most | settings)), pool or away(), clock or Clock())


def asking(buyer="ann", *, proof=Proof.OFF, above=600, brings=None, **more):
    terms = RoomTerms(proof=proof, proof_above_per_minute=above)
    return Asking(7, "gig", terms, HOME, buyer, proof=brings, **more)


def solved(given):
    challenge = altcha.Challenge.from_dict(given)
    found = altcha.solve_challenge(challenge)
    assert found is not None
    return altcha.Payload(challenge, found).to_base64()


def test_a_room_that_always_asks_for_proof_lets_in_who_brings_it():
    guard = guard_of()
    with pytest.raises(ProofRefused):
        guard.check(asking(proof=Proof.ALWAYS))
    guard.check(asking(proof=Proof.ALWAYS, brings=solved(guard.challenge("gig", "ann"))))


def test_a_busy_room_asks_for_proof_above_its_rate_and_no_more_when_it_is_quiet_again():
    clock = Clock()
    guard = guard_of(clock)
    ask = asking(proof=Proof.BUSY, above=10)
    for _ in range(10):
        guard.check(ask)
    assert not guard.proof_required(7, ask.terms)
    with pytest.raises(ProofRefused) as caught:
        guard.check(ask)
    assert caught.value.reason is Reason.PROOF_REQUIRED
    assert guard.proof_required(7, ask.terms)
    assert not guard.proof_required(8, ask.terms), "another event is quiet"
    clock.now += 61
    assert guard.proof_required(7, ask.terms), "most of the last minute was busy"
    clock.now += 60
    assert not guard.proof_required(7, ask.terms)


def test_a_meter_measures_the_last_minute():
    meter = Meter()
    for second in range(120):
        meter.count(second)
    assert meter.per_minute(119) == pytest.approx(60, abs=1)
    assert meter.per_minute(149) == pytest.approx(30, abs=1)
    busy = Meter()
    for _ in range(100):
        busy.count(59)
    assert busy.per_minute(400) == 0


def test_proof_is_asked_for_only_of_who_is_within_the_bounds():
    guard = guard_of(joins_per_buyer_minute=1)
    for _ in range(5):
        with pytest.raises(ProofRefused):
            guard.check(asking(proof=Proof.ALWAYS))
    with pytest.raises(TurnedAway):
        guard.check(asking(proof=Proof.ALWAYS))


def test_codes_guessed_in_bulk_are_refused_and_right_ones_are_not():
    guard = guard_of(codes_per_buyer_minute=1)
    for _ in range(100):
        guard.check(asking(has_code=True))
        guard.code_was_right(asking(has_code=True))
    for _ in range(5):
        guard.check(asking(has_code=True))
    with pytest.raises(TurnedAway) as caught:
        guard.check(asking(has_code=True))
    assert caught.value.reason is Reason.BUYER_CODES
    guard.check(asking())  # without a code they may still join


@scenario
async def test_who_was_turned_away_is_in_the_database_by_minute_and_reason(database_url):
    pool = lookups.open_pool(database_url, size_max=2)
    await pool.open()
    guard = guard_of(pool=pool)
    guard.start()
    for number in range(50):
        with pytest.raises(ProofRefused):
            guard.check(asking(f"b{number}", proof=Proof.ALWAYS))
    await asyncio.sleep(0)
    await guard.stop()  # what was counted is written before it stops
    await pool.close()
    with psycopg.connect(database_url) as conn:
        rows = refused.read(conn, 7)
    assert [(row.reason, row.count) for row in rows] == [(Reason.PROOF_REQUIRED, 50)]
    assert rows[0].addresses == {guard.refusals.hashed(HOME): 50}
    assert HOME not in str(rows)


@scenario
async def test_while_postgres_is_away_it_is_kept_and_bounded(database_url, monkeypatch):
    monkeypatch.setattr(refusals, "ROWS_MAX", 3)
    monkeypatch.setattr(refusals, "ADDRESSES_MAX", 10)
    kept = refusals.Refusals(away(), b"x" * 32)
    for event in range(5):
        for number in range(20):
            kept.count(event, Reason.BUYER_JOINS, Address(f"a{number}"))
        if event == 3:
            await kept.write()
    assert kept.total == 100
    pool = lookups.open_pool(database_url, size_max=2)
    await pool.open()
    kept._pool = pool
    await kept.write()
    await pool.close()
    with psycopg.connect(database_url) as conn:
        found = {event: refused.read(conn, event) for event in range(5)}
    assert {event: [row.count for row in rows] for event, rows in found.items() if rows} == {
        0: [20],
        1: [20],
        2: [20],
    }
    assert all(len(rows[0].addresses) == 10 for rows in found.values() if rows)


class Siteverify:
    """Answers like Turnstile."""

    ANSWERS: ClassVar = {
        "yes": (200, {"success": True}),
        "no": (200, {"success": False, "error-codes": ["timeout-or-duplicate"]}),
        "broken": (500, {"success": True}),
        "neither": (200, {}),
    }

    def __init__(self):
        self.forms = []

    async def __aenter__(self):
        app = aiohttp.web.Application()
        app.router.add_post("/siteverify", self._serve)
        self._runner = aiohttp.web.AppRunner(app)
        await self._runner.setup()
        site = aiohttp.web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}/siteverify"
        return self

    async def _serve(self, request):
        self.forms.append(dict(await request.post()))
        status, body = self.ANSWERS[self.forms[-1]["response"]]
        return aiohttp.web.json_response(body, status=status)

    async def __aexit__(self, *_):
        await self._runner.cleanup()


def human_settings(url, **more):
    return {"human_check_url": url, "human_check_secret": "s3cret"} | more


@scenario
async def test_a_human_passes_and_nobody_else_does():
    async with Siteverify() as site:
        guard = guard_of(**human_settings(site.url))
        await guard.check_human(asking(human="yes"))
        assert site.forms == [{"secret": "s3cret", "response": "yes"}]
        for answer in ("no", "", None):
            with pytest.raises(HumanCheckFailed):
                await guard.check_human(asking(human=answer))
        assert guard.refusals.total == 3
        assert len(site.forms) == 2, "what cannot be an answer is not asked about"
        await guard.stop()


@scenario
async def test_where_it_cannot_be_asked_the_setting_decides():
    async with Siteverify() as site:
        closed = guard_of(**human_settings(site.url))
        for answer in ("broken", "neither"):  # a failure, and an answer that says nothing
            with pytest.raises(Unavailable):
                await closed.check_human(asking(human=answer))
        opened = guard_of(**human_settings(site.url, human_check_fails_open=True))
        await opened.check_human(asking(human="broken"))
        with pytest.raises(HumanCheckFailed):
            await opened.check_human(asking(human="no"))
        await closed.stop()
        await opened.stop()


@scenario
async def test_how_many_are_asked_about_at_once_is_bounded(monkeypatch):
    monkeypatch.setattr(human, "ASKED_MAX", 0)
    guard = guard_of(**human_settings("http://127.0.0.1:9"))
    with pytest.raises(Busy):
        await guard.check_human(asking(human="yes"))
    await guard.stop()


@scenario
async def test_without_one_nobody_is_asked():
    guard = guard_of()
    assert not guard.human.on
    await guard.check_human(asking())
    await guard.stop()
