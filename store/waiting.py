"""The waiting list as its buyers see and change it: leave it, and read what one waits for and at which place.

Leaving is a conditional write like a holder's (see `store.holds`): the buyer in the WHERE, the fact the
allocator must consume in the same transaction, the same answer however often it is asked. Whoever leaves
pokes the stream afterwards. Joining and offers are the allocator's. Lock order: waiting rows after holds,
before seats; leaving locks its own row and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from msgspec import Struct, json

from store import holds
from store.errors import Conflicted, NotFound
from store.holds import Conn
from store.words import FactKind, HoldState, Left, Micros

ENTRIES_MAX: Final = 12
"""Most entries of one buyer that are told: those that wait, then the newest offers."""
WANT_LENGTH_MAX: Final = 2_048
"""A longer wish is not told with each place; who asked for it knows it."""
BUYERS_MAX: Final = 2_000
"""Most buyers one look asks for; there are more looks."""

LEAVE: Final = """
-- Locks this row. Only its buyer, only while it waits: who was offered something is off the list already,
-- and an offer of the same moment is waited for and then found.
UPDATE waiting SET state = 'left'
 WHERE event_id = %(event)s AND buyer = %(buyer)s AND request_id = %(request)s AND state = 'waiting'
RETURNING wait_id
"""

READ_ENTRY: Final = """
SELECT state, hold_id FROM waiting
 WHERE event_id = %(event)s AND buyer = %(buyer)s AND request_id = %(request)s
"""

INSERT_LEFT: Final = "INSERT INTO fact (event_id, kind, body) VALUES (%(event)s, %(kind)s, %(body)s)"

ENTRIES: Final = f"""
-- The list is ranked once for all who are asked for, along its own index; then each entry costs a few probes.
WITH line AS (
  SELECT wait_id, row_number() OVER (ORDER BY wait_id) AS place
    FROM waiting WHERE event_id = %(event)s AND state = 'waiting'),
mine AS (
  SELECT entry.* FROM unnest(%(buyers)s::text[]) AS asked (buyer)
   CROSS JOIN LATERAL (
     SELECT wait_id, buyer, request_id, state, hold_id FROM waiting
      WHERE event_id = %(event)s AND waiting.buyer = asked.buyer AND state <> 'left'
      ORDER BY state = 'waiting' DESC, wait_id DESC LIMIT {ENTRIES_MAX}) AS entry)
SELECT (SELECT count(*) FROM line), mine.buyer, mine.request_id, mine.wait_id, line.place,
       CASE WHEN length(request.input::text) <= {WANT_LENGTH_MAX} THEN request.input::text END,
       offer.result::text, mine.hold_id, hold.state, (extract(epoch FROM hold.expires_at) * 1000000)::bigint,
       greatest(event.extensions_max - hold.extensions, 0)
  FROM event
  LEFT JOIN mine ON true
  LEFT JOIN line USING (wait_id)
  LEFT JOIN ledger AS request ON request.event_id = %(event)s
   AND request.batch_no = mine.wait_id >> 16 AND request.position = mine.wait_id & 65535
  LEFT JOIN ledger AS offer ON offer.event_id = %(event)s AND offer.kind = 'offer'
   AND offer.batch_no = mine.hold_id >> 16 AND offer.position = mine.hold_id & 65535
  LEFT JOIN hold ON hold.event_id = %(event)s AND hold.hold_id = mine.hold_id
 WHERE event.id = %(event)s
 ORDER BY mine.wait_id
"""


class Offer(Struct, frozen=True):
    """What was given to a request on the list: a hold, as it is now."""

    hold_id: int
    result: str | None
    """The ledger's text."""
    state: HoldState
    expires_at: Micros
    extensions_left: int


class Entry(Struct, frozen=True):
    """One request of a buyer's on the list, or offered from it."""

    request_id: str
    wait_id: int
    place: int | None
    """1 is the first; None once it was offered something."""
    want: str | None
    """What it waits for; None where that is very long."""
    offer: Offer | None


class Line(Struct, frozen=True):
    """The list at one moment: how many wait, and the entries of those asked for, oldest first."""

    of: int
    entries: dict[str, list[Entry]]


async def leave(connection: Conn, event_id: int, buyer: str, request_id: str) -> None:
    """Take a request off the list; done, however often it is asked.

    Raises `NotFound` (not_waiting) for a request of this buyer that never waited, `Conflicted` (offered) for
    one that was offered something already.
    """
    values = {"event": event_id, "buyer": buyer, "request": request_id}

    async def attempt() -> None:
        row = await (await connection.execute(LEAVE, values)).fetchone()
        if row is not None:
            body = json.encode(Left(str(row[0]))).decode()
            fact = {"event": event_id, "kind": FactKind.LEFT.value, "body": body}
            await connection.execute(INSERT_LEFT, fact)
            return
        entry = await (await connection.execute(READ_ENTRY, values)).fetchone()
        if entry is None:
            raise NotFound("not_waiting", "This request of yours is not on the waiting list.")
        if entry[1] is not None:
            raise Conflicted(
                "offered", f"Something was offered to you already: hold {entry[1]}. Buy it or give it back."
            )

    await holds.in_transaction(connection, attempt)


async def line(connection: Conn, event_id: int, buyers: Sequence[str]) -> Line:
    """What these buyers have on the list, each once, and how many wait: one query, of one moment."""
    assert len(buyers) <= BUYERS_MAX, "callers chunk"
    found = await connection.execute(ENTRIES, {"event": event_id, "buyers": list(buyers)})
    rows = await found.fetchall()
    assert rows, "an event has its row, whoever waits"
    entries: dict[str, list[Entry]] = {buyer: [] for buyer in buyers}
    for _, buyer, request_id, wait_id, place, want, *offered in rows:
        if buyer is not None:
            result, hold_id, *now = offered
            offer = None if hold_id is None else Offer(hold_id, result, HoldState(now[0]), *now[1:])
            entries[buyer].append(Entry(request_id, wait_id, place, want, offer))
    return Line(rows[0][0], entries)


def chunks(buyers: Sequence[str]) -> Iterator[Sequence[str]]:
    """`buyers` in pieces that one look may ask for."""
    for start in range(0, len(buyers), BUYERS_MAX):
        yield buyers[start : start + BUYERS_MAX]
