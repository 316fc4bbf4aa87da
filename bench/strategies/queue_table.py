"""Queue table in Postgres with one worker: requests are rows, one worker decides them in their order.

https://rhcwlq89.github.io/en/blog/fcfs-system-comparison-guide (first come, first served by a queue and a
consumer) and https://neon.com/guides/queue-system. The server inserts and waits; the worker takes what is
there in the order of ids, up to a hundred, decides each with a conditional UPDATE in one transaction, and
tells the waiting servers by NOTIFY. The worker polls while there is work: NOTIFY on every insert takes
one lock at every commit and made inserts wait for each other. Ids are given before commits, so a row can
be passed by one that was inserted later.
"""

from __future__ import annotations

import asyncio
import json
import os
import time
from typing import Any

import psycopg

from bench.strategies.sale import (
    FIND_TOGETHER,
    TAKE_AND_BOOK_IF_AVAILABLE,
    Answer,
    Booking,
    Means,
    Strategy,
    busy,
    held,
    refused,
)

WAIT_SECONDS_MAX = 10.0
BATCH_SIZE_MAX = 100
ANSWERS_A_NOTICE = 60
"""NOTIFY carries 8,000 bytes."""
POLL_SECONDS = 0.002
IDLE_POLL_SECONDS = 0.1
IDLE_AFTER_SECONDS = 2.0

ASK = "INSERT INTO ticket_request (event_id, request, channel, seats, quantity) VALUES (%s, %s, %s, %s, %s)"
NEXT = """
SELECT id, event_id, request, channel, seats, quantity FROM ticket_request
 WHERE outcome IS NULL ORDER BY id LIMIT %s
"""
DECIDED = """
UPDATE ticket_request SET outcome = answer.outcome
  FROM unnest(%s::bigint[], %s::text[]) AS answer (id, outcome) WHERE ticket_request.id = answer.id
"""


class QueueTable(Strategy):
    name = "queue_table"

    def __init__(self, means: Means) -> None:
        super().__init__(means)
        self._channel = f"answers_{os.getpid()}"
        self._waiting: dict[tuple[int, str], asyncio.Future[list[int]]] = {}
        self._listening: asyncio.Task[None] | None = None
        self._ready = asyncio.Event()

    async def book(self, booking: Booking) -> Answer:
        if self._listening is None:
            self._listening = asyncio.create_task(self._listen())
        await self._ready.wait()
        key = booking.event, booking.request
        answer = self._waiting[key] = asyncio.get_running_loop().create_future()
        try:
            async with self.pool.connection() as connection:
                await connection.execute(
                    ASK,
                    (booking.event, booking.request, self._channel, booking.seats, booking.quantity),
                )
            seats = await asyncio.wait_for(answer, WAIT_SECONDS_MAX)
        except TimeoutError:
            return busy()
        finally:
            del self._waiting[key]
        return held(seats) if seats else refused(booking)

    async def _listen(self) -> None:
        connection = await psycopg.AsyncConnection.connect(self.database_url, autocommit=True)
        async with connection:
            await connection.execute(f"LISTEN {self._channel}".encode())
            self._ready.set()
            async for notice in connection.notifies():
                for event, request, seats in json.loads(notice.payload):
                    waiting = self._waiting.get((event, request))
                    if waiting is not None and not waiting.done():
                        waiting.set_result(seats)

    async def close(self) -> None:
        if self._listening is not None:
            self._listening.cancel()
            await asyncio.gather(self._listening, return_exceptions=True)


def work(database_url: str) -> None:
    """The one worker. Runs until ended."""
    with psycopg.connect(database_url, autocommit=True, application_name="queue worker") as connection:
        worked_at = time.monotonic()
        while True:
            if work_once(connection):
                worked_at = time.monotonic()
            else:
                idle = time.monotonic() - worked_at > IDLE_AFTER_SECONDS
                time.sleep(IDLE_POLL_SECONDS if idle else POLL_SECONDS)


def work_once(connection: psycopg.Connection[Any]) -> int:
    """Decides what is there, up to a bound, in one transaction; how many."""
    with connection.transaction():
        asked = connection.execute(NEXT, (BATCH_SIZE_MAX,)).fetchall()
        if not asked:
            return 0
        answers: dict[str, list[tuple[int, str, list[int]]]] = {}
        outcomes = []
        for _, event, request, channel, seats, quantity in asked:
            got = _decide(connection, event, request, seats, quantity)
            outcomes.append("held" if got else "refused")
            answers.setdefault(channel, []).append((event, request, got))
        connection.execute(DECIDED, ([row[0] for row in asked], outcomes))
        for channel, told in answers.items():
            for first in range(0, len(told), ANSWERS_A_NOTICE):
                payload = json.dumps(told[first : first + ANSWERS_A_NOTICE])
                connection.execute("SELECT pg_notify(%s, %s)", (channel, payload))
    return len(asked)


def _decide(
    connection: psycopg.Connection[Any], event: int, request: str, seats: list[int], quantity: int
) -> list[int]:
    if not seats:
        found = connection.execute(FIND_TOGETHER, {"event": event, "quantity": quantity}).fetchone()
        seats = list(range(found[0], found[0] + quantity)) if found else []
    if not seats:
        return []
    values = {"event": event, "request": request, "seats": seats}
    if len(seats) == 1:
        return seats if connection.execute(TAKE_AND_BOOK_IF_AVAILABLE, values).rowcount else []
    with connection.transaction() as part:
        won = connection.execute(TAKE_AND_BOOK_IF_AVAILABLE, values).rowcount == len(seats)
        part.force_rollback = not won
    return seats if won else []
