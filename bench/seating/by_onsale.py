"""onsale's part: the parties wait in the event's stream, the real allocator decides them, Postgres says who
sits where.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import psycopg
from msgspec import Raw

from bench.backlog import Alone
from bench.seating.judge import Seated
from store.wire import Entry, canonical_want, encode_entry
from store.words import Want

SEATED = """
SELECT buyer, result::text FROM ledger WHERE event_id = %s AND kind = 'request' AND outcome = 'held'
"""


def entries_of(wants: Sequence[Want]) -> list[bytes]:
    """Stream entries in order of arrival, each party a buyer of its own."""
    return [
        encode_entry(Entry(f"party-{number:06d}", "r1", Raw(canonical_want(want)), "bench"))
        for number, want in enumerate(wants)
    ]


def read(database_url: str, one: Alone, wants: Sequence[Want]) -> list[Seated | None]:
    """Who got what, by the ledger."""
    number_of = {seat.guid: number for number, seat in enumerate(one.event.plan.seats)}
    seatings: list[Seated | None] = [None] * len(wants)
    with psycopg.connect(database_url) as connection:
        rows = connection.execute(SEATED, (one.event.id,)).fetchall()
    for buyer, text in rows:
        party = int(buyer.rpartition("-")[2])
        result: dict[str, Any] = json.loads(text)
        seats = [number_of[guid] for guid in result["seats"]]
        choice = result.get("choice", 0)
        parts = [tuple(seats)] if wants[party].choices[choice].seats else []
        for best in wants[party].choices[choice].parties:
            parts.append(tuple(seats[: best.quantity]))
            del seats[: best.quantity]
        seatings[party] = Seated(choice, tuple(parts))
    return seatings
