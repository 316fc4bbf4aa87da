"""Runs a rehearsal on a throwaway onsale: engines, ports and data of its own, gone afterwards.

One gateway and two allocators, so that what is measured is what one of each can do. First everybody joins a
lobby, then everybody storms the copy: once with the fast gate on, once off. Checker and replay look at both.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from typing import Final

from bench.asker import asker
from bench.evidence import Finding, Truth
from bench.generator import generator, mint
from bench.orders import Mode, Round
from bench.processes import cpu_by_name, resident_bytes, spent
from bench.rehearsal.copying import make_copy, make_lobby
from bench.rehearsal.figures import gate_run
from bench.rehearsal.sizing import sentences, sizing
from bench.rehearsal.wants import house_of, party_of, requests_each, wants_of
from bench.rehearsal.words import BUYERS_MAX, EventCopy, GateRun, Measured, Rehearsed
from bench.target import Target, close_event, examine, settle, throwaway_target, wait_known
from bench.waiting_room.rows_asking import FROM_ONE_ADDRESS, join_request
from store.errors import OnsaleError
from store.room.words import RoomTerms

Say = Callable[[str, int, int], None]
"""(what happens, done, of so many)"""
PidOf = Callable[[str], int]
SERVER: Final = ("gateway-1", "allocator-1", "allocator-2")
CONNECTIONS: Final = 200


class NotRehearsed(OnsaleError):
    """The rehearsal could not take place."""


def rehearse(copy: EventCopy, buyers: int, sized_for: int, say: Say) -> Rehearsed:
    """Join, storm, judge, and size for `sized_for` buyers. Raises `OnsaleError` where that cannot be."""
    assert 1 <= buyers <= BUYERS_MAX, "bounded by whoever asked"
    say("starting a throwaway onsale", 0, 0)
    with throwaway_target(env=FROM_ONE_ADDRESS) as (target, pid_of):
        joins = _join(target, copy, buyers, say)
        stormed = [_storm(target, pid_of, copy, buyers, gate, say) for gate in (True, False)]
    measured = Measured(
        event=copy.slug,
        buyers=buyers,
        house=house_of(copy.plan),
        requests_each=requests_each(copy, buyers),
        party=party_of(copy),
        joins_per_second=joins,
        bytes_per_socket=stormed[0][1],
        cores=os.cpu_count() or 1,
        runs=[run for run, _ in stormed],
    )
    shopping_seconds = (copy.room or RoomTerms()).shopping_seconds
    sized = sizing(measured, sized_for, shopping_seconds=shopping_seconds)
    return Rehearsed(measured, sized, sentences(measured, sized))


def _join(target: Target, copy: EventCopy, buyers: int, say: Say) -> float:
    """Joins a second."""
    event = make_lobby(target.database_url, copy)
    wait_known(target, event, state="lobby")
    say("everybody joins the lobby", 0, buyers)
    requests = [
        join_request(target, event, token) for _, token in mint(target.token_secret, buyers, event.slug)
    ]
    with asker(target.base_url, min(CONNECTIONS, buyers)) as crowd:
        answered = crowd.ask(requests)
    if answered.statuses != {"200": buyers}:
        raise NotRehearsed(f"Not everybody could join the copy's lobby: {answered.statuses}.")
    say("everybody joins the lobby", buyers, buyers)
    return buyers / max(answered.seconds, 1e-9)


def _storm(
    target: Target, pid_of: PidOf, copy: EventCopy, buyers: int, gate: bool, say: Say
) -> tuple[GateRun, int]:
    """One stampede, judged; and the memory of one open socket."""
    said = f"gate {'on' if gate else 'off'}: everybody asks"
    event = make_copy(target.database_url, copy, gate=gate)
    wait_known(target, event)
    say(said, 0, buyers)
    gateway = pid_of("gateway-1")
    before = resident_bytes(gateway)

    async def storm() -> tuple[Round, int, dict[str, float]]:
        async with generator(
            target.base_url,
            event.slug,
            mint(target.token_secret, buyers),
            wants_of(copy, buyers),
            Mode.STAMPEDE,
            requests_each=requests_each(copy, buyers),
        ) as clients:
            each = max(1, (resident_bytes(gateway) - before) // buyers)
            cpu = cpu_by_name(pid_of, SERVER)
            seen = await clients.go()
            return seen, each, spent(cpu, cpu_by_name(pid_of, SERVER))

    seen, socket_bytes, cpu = asyncio.run(storm())
    say(f"gate {'on' if gate else 'off'}: checking every law", buyers, buyers)
    settle(target, event, [arrival for one in seen.seen for ask in one.asks for _, arrival in ask.accepted])
    findings: list[Finding]
    truth: Truth
    findings, truth = examine(target.database_url, event, seen.seen)
    close_event(target.database_url, event)
    return gate_run(gate, seen, cpu, findings, truth), socket_bytes
