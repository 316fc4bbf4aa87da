"""A buyer's whole story at one event, for whoever is asked for help: place, requests and why each was
answered so, offers, holds, payments, tickets, mails. One snapshot; bounded; other buyers are never named.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec
import psycopg
from psycopg.rows import tuple_row

from store.console import story_sql as sql
from store.console.why import Rival, why
from store.errors import NotFound
from store.figures.read import plan_of
from store.plan import Plan
from store.tickets.items import SEAT, Item
from store.tickets.reads import SEATS_BY_HAND
from store.waiting_overview import in_words
from store.wire import arrival_order
from store.words import OPERATORS_HOLDS, Outcome

Conn = psycopg.Connection[Any]
Told = dict[str, Any]
Rows = Mapping[int, Sequence[Any]]

REQUESTS_MAX: Final = 50
NEWEST: Final = 1 << 62
_PLACE: Final = (
    "id", "lane", "state", "position", "in_draw", "joined_at", "admitted_at", "begin_by", "begun_at", "until",
    "ended_at", "bought_at",
)  # fmt: skip
_PAYMENT: Final = (
    "payment", "hold", "order", "state", "amount_minor", "currency", "provider", "intent", "declines",
    "reason", "created_at", "succeeded_at", "refund_due_minor", "refunded_minor",
)  # fmt: skip
_REFUND: Final = (
    "refund", "amount_minor", "state", "reason", "attempts", "last_error", "created_at", "refunded_at",
)  # fmt: skip
_MAIL: Final = ("kind", "address", "state", "attempts", "last_error", "created_at", "ended_at")


def read(conn: Conn, event_id: int, slug: str, buyer: str, *, before: int | None = None) -> Told:
    """The story; requests below the cursor `before`, the newest first. Raises `NotFound` (unknown_buyer)."""
    with conn.transaction():
        conn.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        told = _Story(conn, event_id, buyer).read(before)
    if not (before or any(told[name] for name in ("places", "requests", "waiting", "holds", "tickets"))):
        story = f"Nothing is known of that buyer at {slug!r}. Look for them by another word."
        raise NotFound("unknown_buyer", story)
    return {"buyer": buyer, "event": slug, **told}


class _Story:
    """What one reading needs to know all along."""

    def __init__(self, conn: Conn, event_id: int, buyer: str) -> None:
        self._conn = conn
        self._plan: Plan = plan_of(conn, event_id)
        self._numbers = {seat.guid: number for number, seat in enumerate(self._plan.seats)}
        self._values: dict[str, Any] = {"event": event_id, "buyer": buyer}

    def read(self, before: int | None) -> Told:
        rows = self._rows(sql.REQUESTS, before=before or NEWEST, limit=REQUESTS_MAX + 1)
        requests = rows[:REQUESTS_MAX]
        waiting = self._rows(sql.WAITING)
        given = [batch << 16 | at for batch, at, *_, outcome, _, _ in requests if outcome == Outcome.HELD]
        holds = self._holds([*given, *[int(row[3]) for row in waiting if row[3]]], requests)
        payments, addresses = self._payments([int(hold["hold"]) for hold in holds])
        places = self._rows(sql.PLACES)
        addresses += [row[-1] for row in places if row[-1] is not None]
        addresses = list(dict.fromkeys(addresses))
        erased = self._rows(sql.ERASED)
        more = len(rows) > REQUESTS_MAX
        return {
            "erased": erased[0][0] if erased else None,
            "mail": addresses,
            "places": [dict(zip(_PLACE, row[:-1], strict=True)) for row in places],
            "requests": self._requests(requests),
            "requests_more": requests[-1][0] << 16 | requests[-1][1] if more else None,
            "offers": [{"request": row[0], "hold": row[3]} for row in waiting if row[3]],
            "waiting": [dict(zip(("request", "wait", "state"), row[:3], strict=True)) for row in waiting],
            "holds": holds,
            "payments": payments,
            "tickets": self._tickets([int(hold["hold"]) for hold in holds]),
            "mails": self._mails(addresses),
        }

    def _requests(self, rows: Sequence[tuple[Any, ...]]) -> list[Told]:
        taken = {
            number
            for row in rows
            if row[5] == Outcome.TAKEN
            for guid in msgspec.json.decode(row[6]).get("taken", ())
            if (number := self._numbers.get(guid)) is not None
        }
        histories: dict[int, list[tuple[Any, ...]]] = {}
        for seat, *what in self._rows(sql.HAD, seats=sorted(taken)) if taken else []:
            histories.setdefault(seat, []).append(tuple(what))
        had = {hold for rows_ in histories.values() for hold, *_ in rows_ if hold and hold < OPERATORS_HOLDS}
        rivals = {hold: told for hold, *told in self._rows(sql.RIVALS, holds=sorted(had))} if had else {}
        return [self._request(row, histories, rivals) for row in rows]

    def _request(
        self,
        row: tuple[Any, ...],
        histories: Rows,
        rivals: Rows,
    ) -> Told:
        batch_no, position, request, arrival, given, outcome, result, at = row
        want, said = msgspec.json.decode(given), msgspec.json.decode(result)
        seats = said.get("taken", ()) if outcome == Outcome.TAKEN else ()
        me = batch_no << 16 | position
        found = [self._rival(seat, me, at, histories, rivals) for seat in seats]
        return {
            "id": request,
            "arrival": arrival,
            "arrived_at": arrival_order(arrival)[0],
            "decided_at": at,
            "batch_no": batch_no,
            "position": position,
            "want": want,
            "asked": in_words(want) if isinstance(want, dict) else "what cannot be read",
            "outcome": outcome,
            "result": said,
            "why": why(Outcome(outcome), said, arrival, [one for one in found if one is not None]),
            "hold": str(me) if outcome == Outcome.HELD else None,
        }

    def _rival(
        self,
        guid: str,
        me: int,
        at: int,
        histories: Rows,
        rivals: Rows,
    ) -> Rival | None:
        """Who had the seat when the request that stands at `me` was decided."""
        before = [
            (hold, state)
            for hold, state, when in histories.get(self._numbers.get(guid, -1), ())
            if (hold < me if hold and hold < OPERATORS_HOLDS else when <= at) and state != "available"
        ]
        if not before:
            return None
        hold = before[-1][0]
        if not hold or hold >= OPERATORS_HOLDS or hold not in rivals:
            return Rival(guid, None, None, None, False)
        arrival, own = rivals[hold]
        return Rival(guid, hold >> 16, hold & 65_535, arrival, bool(own))

    def _holds(self, given: Sequence[int], requests: Sequence[tuple[Any, ...]]) -> list[Told]:
        among = {
            number
            for row in requests
            if row[5] == Outcome.HELD
            for guid in msgspec.json.decode(row[6]).get("seats", ())
            if (number := self._numbers.get(guid)) is not None
        }
        rows = self._rows(sql.HOLDS, holds=list(given), seats=sorted(among))
        other = [row[0] for row in rows if row[2] in ("active", "paid") and not row[8]]
        more: dict[int, list[int]] = {}
        for hold, seat in self._rows(SEATS_BY_HAND, holds=other) if other else []:
            more.setdefault(hold, []).append(seat)
        return [self._hold(row, row[8] or sorted(more.get(row[0], []))) for row in rows]

    def _hold(self, row: tuple[Any, ...], seats: Sequence[int]) -> Told:
        hold, request, state, kind, quantity, expires_at, paid_at, extensions, _, areas = row
        return {
            "hold": str(hold),
            "request": request,
            "state": state,
            "kind": kind,
            "seats": [self._plan.seats[seat].guid for seat in seats],
            "areas": {self._plan.areas[int(area)].guid: count for area, count in areas.items()},
            "quantity": quantity,
            "expires_at": expires_at,
            "paid_at": paid_at,
            "extensions": extensions,
        }

    def _payments(self, holds: Sequence[int]) -> tuple[list[Told], list[str]]:
        rows = self._rows(sql.PAYMENTS, holds=list(holds))
        refunds: dict[int, list[Told]] = {}
        for payment, *row in self._rows(sql.REFUNDS, payments=[row[0] for row in rows]) if rows else []:
            refunds.setdefault(payment, []).append(dict(zip(_REFUND, row, strict=True)))
        told = [
            dict(zip(_PAYMENT, row[:-1], strict=True)) | {"refunds": refunds.get(row[0], [])} for row in rows
        ]
        return told, [row[-1] for row in rows if row[-1] is not None]

    def _tickets(self, holds: Sequence[int]) -> list[Told]:
        """Those of which something is remembered beyond their orders."""
        found = []
        for order, area, number, serial, mine, offered, gone, checked_at in self._rows(
            sql.TICKETS, holds=list(holds)
        ):
            place = {"seat": self._plan.seats[number].guid, "area": None}
            if area != SEAT:
                place = {"seat": None, "area": self._plan.areas[area].guid}
            found.append(
                {"ticket": Item(area, number).name, "order": order, **place}
                | {"holder": "self" if mine else "another", "offered": offered, "serial": serial}
                | {"checked_at": checked_at, "gone": gone}
            )
        return found

    def _mails(self, addresses: Sequence[str]) -> list[Told]:
        lowered = [address.lower() for address in addresses]
        rows = self._rows(sql.MAILS, addresses=lowered) if lowered else []
        return [dict(zip(_MAIL, row, strict=True)) for row in rows]

    def _rows(self, statement: str, **more: Any) -> list[tuple[Any, ...]]:
        cursor = self._conn.cursor(row_factory=tuple_row)
        return cursor.execute(statement.encode(), self._values | more).fetchall()
