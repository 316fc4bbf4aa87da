"""From raw stream entries to what a batch decides: read, put in order, told from repeats.

Of one key, the first arrival is decided. The same content again gets the same answer; other content
is a `conflict` of that arrival, once, however often a gateway appends it. What cannot be read is
`invalid` under its arrival, never dropped.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import NamedTuple

import msgspec

from allocator.decide import KEY_REUSED, Ask
from allocator.keys import Keys
from allocator.ports import Key, Known
from allocator.wishes import UNREADABLE, Wish, Wishes
from store.stream.port import CREATED, REQUEST, RawEntry
from store.wire import Entry, arrival_order, decision_frame, decode_entry, encode_entry
from store.words import Arrival, Outcome

_UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
_STREAM_ID = re.compile(r"[0-9]{1,20}-[0-9]{1,20}")

LookUp = Callable[[Sequence[Key]], dict[Key, Known]]
"""Which keys are decided, and how."""
Conflicts = Callable[[Sequence[Arrival]], set[Arrival]]
"""Which arrivals were decided as conflicts."""


class Answer(NamedTuple):
    """A frame for a buyer who waits at a gateway."""

    gateway: str
    buyer: str
    request_id: str
    frame: bytes


@dataclass(slots=True)
class Arrived:
    """Requests as they were read, repeats among them."""

    asks: list[Ask] = field(default_factory=list)
    gateways: list[str] = field(default_factory=list)
    """Who waits for each of `asks`."""
    asked_again: bool = False
    """Some keep an arrival from before the stream was lost."""


@dataclass(slots=True)
class Sorted:
    """A batch before it is decided."""

    asks: list[Ask] = field(default_factory=list)
    """To be decided, in order of arrival."""
    gateways: list[str] = field(default_factory=list)
    """Who waits for each of `asks`."""
    repeats: list[Answer] = field(default_factory=list)
    """Asked again and decided before: answered as it was."""
    echoes: list[tuple[str, int]] = field(default_factory=list)
    """(gateway, index in `asks`): asked twice in this batch with the same content."""


def was_created(entries: Sequence[RawEntry]) -> bool:
    """Whether the stream was lost and created anew among these entries."""
    return any(fields[0] == CREATED for _, fields in entries)


def sort_out(
    entries: Sequence[RawEntry],
    keys: Keys,
    wishes: Wishes,
    look_up: LookUp,
    conflicts: Conflicts = lambda arrivals: set(),
) -> Sorted:
    """Read `entries` and tell first requests from repeats; see `tell_repeats`."""
    return tell_repeats(read_entries(entries, wishes), keys, look_up, conflicts)


def read_entries(entries: Sequence[RawEntry], wishes: Wishes) -> Arrived:
    """What `entries` ask for. Needs neither keys nor Postgres, so it may run ahead."""
    arrived = Arrived()
    append, wait_at, read_wish = arrived.asks.append, arrived.gateways.append, wishes.read
    new_ask = tuple.__new__
    for raw_id, fields in entries:
        if fields[0] != REQUEST:
            continue
        arrival = raw_id.decode()
        try:
            entry = decode_entry(fields[1])
            want = bytes(entry.want)
            wish = read_wish(want)
            text = want.decode() if wish.reason != UNREADABLE else "null"
            rare = entry.first_arrival or b"\\" in fields[1]
            readable = not rare or _is_writable(entry)
        except _UNREADABLE:
            readable = False
        if not readable:  # of nobody; its arrival stands for its key
            append(Ask(Arrival(arrival), "", arrival, "null", Wish(UNREADABLE)))
            wait_at("")
            continue
        if entry.first_arrival:
            arrival, arrived.asked_again = entry.first_arrival, True
        # an Ask, made without its constructor, which costs as much as all the rest of this turn
        append(new_ask(Ask, (arrival, entry.buyer, entry.request_id, text, wish, False)))
        wait_at(entry.gateway)
    return arrived


def tell_repeats(
    arrived: Arrived, keys: Keys, look_up: LookUp, conflicts: Conflicts, *, partly: bool = False
) -> Sorted:
    """First requests and repeats; remembers every key. `partly`: some may be decided under these arrivals.

    `look_up` is asked once, for suspects only; `conflicts` at most once, where arrivals may come again.
    """
    asks, gateways = arrived.asks, arrived.gateways
    suspects = keys.suspects([ask[1:3] for ask in asks])
    if arrived.asked_again:  # what the stream lost goes first, by the arrival that was acknowledged
        order = sorted(range(len(asks)), key=lambda i: arrival_order(asks[i].arrival))
        asks, gateways = [asks[i] for i in order], [gateways[i] for i in order]
        suspects = list(range(len(asks)))  # of two equal keys the other one may come first now
    if not suspects:
        return Sorted(asks, gateways)
    decided = look_up([(asks[i].buyer, asks[i].request_id) for i in suspects])
    again = partly or arrived.asked_again
    conflicted = [ask.arrival for ask in asks if _differs(ask, decided)] if again else []
    already = conflicts(conflicted) if conflicted else set()
    return _without_repeats(asks, gateways, set(suspects), decided, already)


def _is_writable(entry: Entry) -> bool:
    """Whether the ledger can hold its names (no control characters) and its first arrival is one."""
    names = entry.buyer + entry.request_id
    return min(names, default=" ") >= " " and bool(_STREAM_ID.fullmatch(entry.first_arrival or "0-0"))


def undecided(entries: Sequence[RawEntry], look_up: LookUp) -> list[bytes]:
    """Entries to append again, keeping their arrival: the first of each key and content that the ledger
    lacks. Other content of a decided key is one: whether its conflict is decided, intake finds out.
    """
    waiting: dict[tuple[Key, bytes], tuple[str, Entry]] = {}
    for raw_id, fields in entries:
        if fields[0] == REQUEST:
            with suppress(*_UNREADABLE):
                entry = decode_entry(fields[1])
                key = (entry.buyer, entry.request_id)
                waiting.setdefault((key, bytes(entry.want)), (raw_id.decode(), entry))
    decided = look_up(list(dict.fromkeys(key for key, _ in waiting))) if waiting else {}
    return [
        encode_entry(msgspec.structs.replace(entry, first_arrival=entry.first_arrival or arrival))
        for (key, want), (arrival, entry) in waiting.items()
        if key not in decided or decided[key].want.encode() != want
    ]


def _differs(ask: Ask, decided: Mapping[Key, Known]) -> bool:
    known = decided.get((ask.buyer, ask.request_id))
    return known is not None and known.want != ask.want


def _without_repeats(
    asks: list[Ask],
    gateways: list[str],
    suspected: set[int],
    decided: Mapping[Key, Known],
    already: set[Arrival],
) -> Sorted:
    """`already`: arrivals whose conflict is in the ledger."""
    batch = Sorted()
    first: dict[Key, int] = {}
    conflict_of: dict[Arrival, int] = {}
    for index, (ask, gateway) in enumerate(zip(asks, gateways, strict=True)):
        key = (ask.buyer, ask.request_id)
        known = decided.get(key) if index in suspected else None
        if known is not None and known.want == ask.want:
            frame = decision_frame(ask.request_id, known.arrival, known.outcome, known.result)
            batch.repeats.append(Answer(gateway, ask.buyer, ask.request_id, frame))
            continue
        mate = first.setdefault(key, len(batch.asks))
        if known is None and mate < len(batch.asks) and batch.asks[mate].want == ask.want:
            batch.echoes.append((gateway, mate))
            continue
        conflict = known is not None or mate < len(batch.asks)
        if conflict and ask.arrival in already:
            frame = decision_frame(ask.request_id, ask.arrival, Outcome.CONFLICT, KEY_REUSED)
            batch.repeats.append(Answer(gateway, ask.buyer, ask.request_id, frame))
            continue
        if conflict and (same := conflict_of.setdefault(ask.arrival, len(batch.asks))) < len(batch.asks):
            batch.echoes.append((gateway, same))
            continue
        batch.asks.append(ask._replace(conflict=conflict))
        batch.gateways.append(gateway)
    return batch
