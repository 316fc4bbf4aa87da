"""Wire forms: what is in a stream entry, on a fan-out channel, and in a frame to a client.

Entries and frames are JSON, so an operator can read a stream with XRANGE; fan-out between our own
processes is msgpack. Keys and channels carry the hash tag `{event}`, so one event is one slot.

A decision's frame is put together once, by whoever has the ledger row, from the row's own text:
the allocator when it publishes, a gateway when it looks a decision up. Both give the same bytes.
"""

from __future__ import annotations

import zlib
from array import array
from collections.abc import Iterator, Sequence

import msgspec
from msgspec import Raw, Struct
from msgspec.structs import replace

from store.words import Arrival, HoldId, WaitId, Want


class Entry(Struct, frozen=True, array_like=True):
    """One request in the stream."""

    buyer: str
    request_id: str
    want: Raw
    """Canonical JSON of a `Want`; equal bytes are the same content."""
    gateway: str
    """Who waits for the decision: names the channel it is published on."""
    first_arrival: str = ""
    """Set when asked again after the stream lost it: the arrival that was acknowledged first."""


class Delta(Struct, frozen=True, array_like=True):
    """What one batch changed on the seat map; gateways notice a gap by `batch_no`."""

    batch_no: int
    """0: something was missed; read the map from Postgres."""
    batch_time: int
    held: list[tuple[int, int]]
    """(seat number, expires_at in microseconds)"""
    freed: list[int]
    sold: list[int]
    areas: list[tuple[int, int]]
    """(area number, places free)"""
    state: str = ""
    """The event's new state when a policy fact was consumed; or, of batch 0, `STREAM_LOST`."""
    blocked: list[int] = []
    places_held: list[tuple[int, int]] = []
    """(area number, expires_at in microseconds) of holds of standing places, each pair once"""
    plan: bool = False
    """Seats and areas are in other categories: the event's plan is another."""
    map_is: tuple[int, int] | None = None
    """In a delta of batch 0: after that batch the map has this `map_digest`; nothing else is told."""


class HoldNews(Struct, frozen=True, array_like=True):
    """What a buyer did with a hold at one gateway, for the buyer's sockets at the others; or an offer."""

    gateway: str
    """Who knows it already; empty: the allocator tells it, nobody does."""
    buyer: str
    frame: bytes
    more: tuple[tuple[str, bytes], ...] = ()
    """(buyer, frame) of what else changed in the same moment, in order."""

    def each(self) -> Iterator[tuple[str, bytes]]:
        """(buyer, frame) of all of it."""
        yield self.buyer, self.frame
        yield from self.more


STREAM_LOST = "stream_lost"
"""In a `Delta` of batch 0: what waits for a decision should be appended again now."""

encode_entry = msgspec.json.Encoder().encode
decode_entry = msgspec.json.Decoder(Entry).decode
encode_want = msgspec.json.Encoder(order="sorted").encode
decode_want = msgspec.json.Decoder(Want).decode
encode_delta = msgspec.msgpack.Encoder().encode
decode_delta = msgspec.msgpack.Decoder(Delta).decode

encode_news = msgspec.msgpack.Encoder().encode
decode_news = msgspec.msgpack.Decoder(HoldNews).decode

Published = list[tuple[str, str, bytes]]
"""(buyer, request id, frame) of each decision for one gateway in one batch."""
encode_published = msgspec.msgpack.Encoder().encode
decode_published = msgspec.msgpack.Decoder(Published).decode


def canonical_want(want: Want) -> bytes:
    """The one text for this content: seats sorted, keys sorted, defaults left out. Parties and fallbacks keep
    their order.
    """
    if want.fallbacks:
        fallbacks = tuple([replace(one, seats=tuple(sorted(one.seats))) for one in want.fallbacks])
        want = replace(want, fallbacks=fallbacks)
    if len(want.seats) > 1:
        want = replace(want, seats=tuple(sorted(want.seats)))
    return encode_want(want)


def decision_frame(request_id: str, arrival: str, outcome: str, result: str) -> bytes:
    """The frame a client gets. `request_id` is checked at the door to need no escaping."""
    return (
        f'{{"type":"decision","id":"{request_id}","arrival":"{arrival}",'
        f'"outcome":"{outcome}","result":{result}}}'
    ).encode()


def offer_frame(request_id: str, wait_id: WaitId, result: str) -> bytes:
    """The frame the sockets of a buyer get who waited. `result` is the offer's, of the ledger."""
    return f'{{"type":"offer","id":"{request_id}","wait":"{wait_id}","result":{result}}}'.encode()


def time_back_frame(hold_id: HoldId, expires_at: int, lost_us: int) -> bytes:
    """The frame the sockets of a holder get after an outage. Times in microseconds."""
    return (
        f'{{"type":"hold","hold":"{hold_id}","state":"active","expires_at":{expires_at // 1000},'
        f'"given_back_ms":{lost_us // 1000}}}'
    ).encode()


def arrival_order(arrival: str) -> tuple[int, int]:
    """Sortable form of a stream id."""
    milliseconds, _, sequence = arrival.partition("-")
    return int(milliseconds), int(sequence or 0)


def map_digest(letters: bytes | bytearray, areas_free: Sequence[int]) -> int:
    """Of a seat map, to compare: the letters of its seats and the places free of its areas."""
    return zlib.crc32(array("q", areas_free).tobytes(), zlib.crc32(letters))


def arrival_after(arrival: str) -> Arrival:
    """The smallest id above `arrival`."""
    milliseconds, sequence = arrival_order(arrival)
    return Arrival(f"{milliseconds}-{sequence + 1}")


def stream_key(event: str) -> str:
    return f"onsale:{{{event}}}:requests"


def decisions_channel(event: str, gateway: str) -> str:
    return f"onsale:{{{event}}}:decisions:{gateway}"


def seats_channel(event: str) -> str:
    return f"onsale:{{{event}}}:seats"


def holds_channel(event: str) -> str:
    return f"onsale:{{{event}}}:holds"
