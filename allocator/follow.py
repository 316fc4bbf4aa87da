"""A standby's warm memory: follows the ledger by what each batch changed.

Only rows that change something are read whole: facts, holds that ran out, holds that were given, requests
that wait. Of refused requests a standby needs the key alone. So standing by costs a fraction of deciding, and
what does not fit memory is noticed where it is applied (`Mismatch`): then memory is loaded anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any, Final

import msgspec

from allocator.decide import Fact, consume
from allocator.keys import Keys
from allocator.load import Connection
from allocator.memory import Hold, Memory, Overlay
from allocator.wishes import Wishes
from store.stream.port import BEGINNING
from store.words import Arrival, HoldId, LedgerKind, WaitId

BATCHES_AT_A_TIME = 64

HEADS: Final = """
SELECT batch_no, (extract(epoch FROM batch_time) * 1000000)::bigint, arrival
  FROM ledger_batch WHERE event_id = %s AND batch_no > %s ORDER BY batch_no LIMIT %s
"""

CHANGES: Final = """
-- Along the primary key. Of a refused request only its key leaves the server.
SELECT batch_no, position, kind, buyer, request_id,
       CASE WHEN kind <> 'request' OR outcome = 'waitlisted' THEN input::text END,
       CASE WHEN kind <> 'request' OR outcome = 'waitlisted' THEN outcome END,
       CASE WHEN outcome IN ('held', 'offered') THEN result::text END
  FROM ledger WHERE event_id = %s AND batch_no > %s AND batch_no <= %s
 ORDER BY batch_no, position
"""


class Mismatch(Exception):
    """The ledger says something that memory cannot follow."""


class FactInput(msgspec.Struct):
    """A fact's `input` in the ledger."""

    fact: int
    hold: str | None
    body: msgspec.Raw

    def as_fact(self, kind: str) -> Fact:
        hold_id = None if self.hold is None else HoldId(int(self.hold))
        return Fact(self.fact, kind, hold_id, bytes(self.body).decode())


class _ExpiredInput(msgspec.Struct):
    hold: str


class _OfferInput(msgspec.Struct):
    wait: str


class _HeldResult(msgspec.Struct):
    hold: str
    seats: list[str]
    areas: dict[str, int]
    expires_at: int
    moved: str | None = None
    """The hold that ended for it."""


decode_fact = msgspec.json.Decoder(FactInput).decode
_decode_expired = msgspec.json.Decoder(_ExpiredInput).decode
_decode_offer = msgspec.json.Decoder(_OfferInput).decode
_decode_held = msgspec.json.Decoder(_HeldResult).decode


class Follower:
    """Keeps `memory` and `keys` where the ledger is."""

    def __init__(
        self,
        conn: Connection,
        event_id: int,
        memory: Memory,
        keys: Keys,
        arrival: Arrival = BEGINNING,
    ) -> None:
        self._conn = conn
        self._event_id = event_id
        self.memory = memory
        self.keys = keys
        self._wishes = Wishes(memory.layout)
        self.arrival = arrival
        """The cursor after the last batch followed, or as memory was loaded."""

    def on(self, conn: Connection) -> Follower:
        """The same on another connection."""
        return Follower(conn, self._event_id, self.memory, self.keys, self.arrival)

    def catch_up(self) -> None:
        """Follow the ledger to its end. Raises `Mismatch`; then memory must be loaded anew."""
        while self._follow_some():
            pass

    def _follow_some(self) -> bool:
        after = self.memory.batch_no
        heads = self._conn.execute(HEADS, (self._event_id, after, BATCHES_AT_A_TIME)).fetchall()
        if heads:
            rows = self._conn.execute(CHANGES, (self._event_id, after, heads[-1][0])).fetchall()
            by_batch = {batch_no: list(group) for batch_no, group in groupby(rows, itemgetter(0))}
            for batch_no, batch_time, arrival in heads:
                self.apply(batch_no, batch_time, by_batch.get(batch_no, []))
                self.arrival = Arrival(arrival)
        self._conn.commit()
        return len(heads) == BATCHES_AT_A_TIME

    def apply(self, batch_no: int, batch_time: int, rows: Sequence[tuple[Any, ...]]) -> None:
        """Let memory be after this batch; rows as in `CHANGES`. Raises `Mismatch` where that cannot be."""
        memory, suspect = self.memory, self.keys.suspect
        if batch_no != memory.batch_no + 1:
            raise Mismatch(f"batch {memory.batch_no + 1} is missing before {batch_no}")
        overlay = Overlay(memory)
        self._wishes = self._wishes.by(memory.layout)
        try:
            for _, position, kind, buyer, request_id, given, what, result in rows:
                if kind == LedgerKind.REQUEST:
                    suspect((buyer, request_id))
                    if result is not None:
                        self._give(overlay, buyer, _decode_held(result), batch_time)
                    elif what is not None:
                        wait_id = WaitId(batch_no << 16 | position)
                        overlay.wait(wait_id, buyer, request_id, self._wishes.read(given.encode()))
                elif kind == LedgerKind.FACT:
                    consume(memory, overlay, decode_fact(given).as_fact(what))
                elif kind == LedgerKind.OFFER:
                    self._offer(overlay, _decode_offer(given), _decode_held(result), batch_time)
                elif overlay.free(HoldId(int(_decode_expired(given).hold))) is None:
                    raise Mismatch(f"batch {batch_no}: memory has no hold to expire: {given}")
        except (AssertionError, KeyError, msgspec.DecodeError) as error:
            raise Mismatch(f"batch {batch_no}: {error}") from error
        overlay.keep(batch_no, batch_time)

    def _give(self, overlay: Overlay, buyer: str, held: _HeldResult, batch_time: int) -> None:
        expires_at = batch_time + self.memory.policy.hold_ttl_seconds * 1_000_000
        if held.moved is not None:
            moved = overlay.free(HoldId(int(held.moved)))
            assert moved is not None, "a hold that was moved was active"
            expires_at = moved.expires_at
        assert expires_at // 1000 == held.expires_at, (
            "a hold runs out by the policy of its batch, or with the one it is instead of"
        )
        overlay.claim(HoldId(int(held.hold)), self._hold(buyer, held, expires_at))

    def _offer(self, overlay: Overlay, offer: _OfferInput, held: _HeldResult, batch_time: int) -> None:
        wait_id = WaitId(int(offer.wait))
        buyer = self.memory.waiting.entries[wait_id].buyer
        expires_at = batch_time + self.memory.policy.offer_ttl_seconds * 1_000_000
        assert expires_at // 1000 == held.expires_at, "an offer runs out by the policy of its batch"
        overlay.offer(wait_id, HoldId(int(held.hold)), self._hold(buyer, held, expires_at))

    def _hold(self, buyer: str, held: _HeldResult, expires_at: int) -> Hold:
        layout = self.memory.layout
        seats = tuple([layout.seat_by_guid[guid] for guid in held.seats])
        areas = tuple([(layout.area_by_guid[guid], quantity) for guid, quantity in held.areas.items()])
        return Hold(buyer, seats, areas, expires_at)
