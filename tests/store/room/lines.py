"""Events with a waiting room for tests: made with terms, joined, opened, drawn; and what became of places."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import psycopg

from store.events import create_event, set_state
from store.room import draw, joining, rooms
from store.room.joining import Joining
from store.room.words import Lane, Place, RoomTerms
from store.venues.make import make
from store.venues.rows import save_venue
from store.words import EventState

Conn = psycopg.Connection[Any]
T = TypeVar("T")
PLAN = make("theatre", 40)
ORDER = f"SELECT {joining.COLUMNS} FROM line JOIN place ON place.id = place_id"


class Line:
    """The waiting room of an event of its own, in the lobby."""

    def __init__(self, conn: Conn, database_url: str, slug: str | None = None, **terms: Any) -> None:
        self.conn, self.url = conn, database_url
        self.slug = slug or f"gig-{uuid.uuid4().hex[:8]}"
        self.event = create_event(conn, self.slug, "The gig", save_venue(conn, f"v-{self.slug}", PLAN), PLAN)
        # its owner attends to it, for as long as a test takes
        conn.execute("UPDATE lease SET renewed_at = 'infinity' WHERE event_id = %s", (self.event,))
        rooms.make(conn, self.slug, RoomTerms(**terms))
        set_state(conn, self.slug, EventState.LOBBY)

    def join(self, *buyers: str, lane: Lane = Lane.ORDINARY) -> dict[str, Place]:
        """These buyers join, in this order."""
        joins = [Joining(buyer, lane) for buyer in buyers]
        answers = self.alone(lambda own: joining.join(own, self.event, joins))
        return {buyer: answer for buyer, answer in answers.items() if isinstance(answer, Place)}

    def open(self) -> None:
        """The sale begins."""
        set_state(self.conn, self.slug, EventState.OPEN)

    def drawn(self) -> None:
        """It begins, and is drawn."""
        self.open()
        assert draw.draw(self.conn, self.event)

    def alone(self, run: Callable[[psycopg.AsyncConnection[Any]], Awaitable[T]]) -> T:
        """What that coroutine gives, on a connection of its own."""

        async def go() -> T:
            async with await psycopg.AsyncConnection.connect(self.url, autocommit=True) as own:
                return await run(own)

        return asyncio.run(go())

    def place(self, buyer: str) -> Place:
        """The buyer's newest place."""
        where = " WHERE place.event_id = %s AND buyer = %s ORDER BY joined_at DESC LIMIT 1"
        text = ORDER.replace("FROM line JOIN", "FROM line RIGHT JOIN") + where
        row = self.conn.execute(text, (self.event, buyer)).fetchone()
        assert row is not None, f"{buyer} has a place"
        return joining.place_of(row)

    def order(self, lane: Lane = Lane.ORDINARY) -> list[str]:
        """Buyers of a lane, by position."""
        text = f"{ORDER} WHERE line.event_id = %s AND line.lane = %s ORDER BY position"
        rows = self.conn.execute(text, (self.event, lane.value)).fetchall()
        return [joining.place_of(row).buyer for row in rows]

    def states(self) -> dict[str, str]:
        """Of each buyer's newest place."""
        text = "SELECT DISTINCT ON (buyer) buyer, state FROM place WHERE event_id = %s"
        return dict(self.conn.execute(f"{text} ORDER BY buyer, joined_at DESC", (self.event,)).fetchall())

    def room(self, *columns: str) -> Any:
        """The room's columns; one alone by itself."""
        text = f"SELECT {', '.join(columns)} FROM room WHERE event_id = %s"
        row = self.conn.execute(text, (self.event,)).fetchone()
        assert row is not None, "there is a room"
        return row if len(columns) > 1 else row[0]

    def ago(self, seconds: float, *buyers: str) -> None:
        """As if the room's last decision, and all that happened to these buyers, were so long ago."""
        back = f"make_interval(secs => {seconds})"
        self.conn.execute(
            f"UPDATE room SET decided_at = coalesce(decided_at, clock_timestamp()) - {back},"
            f" drawn_at = drawn_at - {back} WHERE event_id = %s", (self.event,)
        )  # fmt: skip
        self.conn.execute(
            f"UPDATE place SET admitted_at = admitted_at - {back}, begin_by = begin_by - {back},"
            f" begun_at = begun_at - {back}, until = until - {back} WHERE event_id = %s AND buyer = ANY (%s)",
            (self.event, list(buyers)),
        )

    def hold(self, buyer: str, number: int = 1, state: str = "active") -> None:
        """A hold of that buyer; of no seats, for nothing here asks which."""
        self.conn.execute(
            "INSERT INTO hold (event_id, hold_id, buyer, request_id, quantity, expires_at, state, paid_at)"
            " VALUES (%s, %s, %s, 'r', 1, clock_timestamp() + interval '8 minutes', %s,"
            "         CASE WHEN %s = 'paid' THEN clock_timestamp() END)",
            (self.event, number, buyer, state, state),
        )

    def holds_end(self, state: str = "released") -> None:
        """All holds that run end."""
        text = "UPDATE hold SET state = %s WHERE event_id = %s AND state = 'active'"
        self.conn.execute(text, (state, self.event))

    def buys(self, buyer: str, kind: str = "buyer") -> None:
        """The outbox says that this buyer bought something."""
        self.conn.execute(
            "WITH counted AS (INSERT INTO outbox_count AS c (event_id, rows) VALUES (%(event)s, 1)"
            " ON CONFLICT (event_id) DO UPDATE SET rows = c.rows + 1 RETURNING rows)"
            " INSERT INTO outbox (event_id, number, kind, body)"
            " SELECT %(event)s, rows, 'order.paid',"
            " json_build_object('buyer', %(buyer)s::text, 'kind', %(kind)s::text) FROM counted",
            {"event": self.event, "buyer": buyer, "kind": kind},
        )
