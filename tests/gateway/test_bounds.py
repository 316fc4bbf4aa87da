"""Bounds that nobody meets by being polite: each refuses, and none is reached by reading on."""

from __future__ import annotations

import asyncio

import pytest

from gateway.buyers import intake as intake_module
from gateway.buyers import recall as recall_module
from gateway.buyers import socket as socket_module
from gateway.buyers.decode import frame_from_json
from gateway.buyers.recall import Recall
from gateway.http_protocol import _body
from gateway.problems import Busy, TooLarge
from store import lookups
from store.words import REQUEST_BYTES_MAX
from tests.gateway.rig import SEATS, StandIn, gateway, make_event, scenario, until
from tests.gateway.test_intake import Running, Told, submit

PIECE = 4096


@scenario
async def test_a_body_that_is_too_large_is_not_read_to_its_end():
    pieces = 0

    async def receive():
        nonlocal pieces
        pieces += 1
        return {"type": "http.request", "body": b"x" * PIECE, "more_body": pieces < 1_000}

    with pytest.raises(TooLarge):
        await _body(receive)
    assert pieces == REQUEST_BYTES_MAX // PIECE + 1


def test_a_frame_is_measured_in_bytes():
    letters = "ü" * (REQUEST_BYTES_MAX - 100)
    with pytest.raises(TooLarge):
        frame_from_json(f'{{"type":"resume","ids":["{letters}"]}}')


@scenario
async def test_of_too_many_who_wait_for_one_request_the_oldest_is_let_go(monkeypatch):
    monkeypatch.setattr(intake_module, "WAITERS_MAX", 2)
    async with Running() as (intake, _):
        told = [Told() for _ in range(3)]
        for one in told:
            submit(intake, "r0", told=one)
        intake.deliver([("ann", "r0", b"decision")])
        assert [("decided", b"decision") in one.heard for one in told] == [False, True, True]


@scenario
async def test_a_look_up_too_many_is_told_to_come_back(monkeypatch):
    monkeypatch.setattr(recall_module, "ASKING_MAX", 2)

    class Slow(Recall):
        async def decisions(self, keys):
            return {}

    recall, answers = Slow(None, 1), []  # type: ignore[arg-type]
    for n in range(3):
        recall.ask("ann", f"r{n}", lambda decided, error: answers.append(error))
    assert [type(error) for error in answers] == [Busy]
    await until(lambda: len(answers) == 3)
    assert answers[1:] == [None, None]


@scenario
async def test_few_keys_of_one_socket_are_looked_up_at_a_time(engine_urls, database_url, monkeypatch):
    monkeypatch.setattr(socket_module, "LOOKED_UP_MAX", 2)
    go_on, look_up = asyncio.Event(), lookups.decisions

    async def slowly(*given):
        await go_on.wait()
        return await look_up(*given)

    async with (
        gateway(engine_urls) as served,
        StandIn(engine_urls, make_event(database_url)),
        served.socket("ann") as ann,
        served.socket("bob") as bob,
    ):
        monkeypatch.setattr(lookups, "decisions", slowly)
        await ann.send({"type": "resume", "ids": ["r0", "r1", "r2"]})
        await ann.ask("r3", seats=[SEATS[0]], again=True)
        for refused in ("r2", "r3"):
            error = await ann.receive("error")
            assert (error["code"], error["id"], error["retry_after"]) == ("too_many_lookups", refused, 1)
        await bob.send({"type": "resume", "ids": ["r0"]})
        go_on.set()
        assert (await bob.receive())["type"] == "unknown"
        assert [(await ann.receive("unknown"))["id"] for _ in range(2)] == ["r0", "r1"]
        await ann.ask("r3", seats=[SEATS[0]], again=True)
        assert (await ann.receive("decision"))["outcome"] == "held"
