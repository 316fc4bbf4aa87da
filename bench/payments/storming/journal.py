"""What the provider did, from its own journal: its book of intents, and how its notices went. Pure, after the
reading."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from bench.payments.storming.evidence import Intent
from onsale.simulated.book import Book, Entry, Status

JOURNAL: Final = Path("simulated") / "journal.jsonl"
"""In a stack's data directory."""
_decode: Final = msgspec.json.Decoder(Entry).decode


class Notices(Struct, frozen=True):
    """How many there were, and what became of them on their way."""

    made: int = 0
    sent_twice: int = 0
    """And taken both times."""
    overtaken: int = 0
    """Held back, and taken after one that was made later."""
    crossed: int = 0
    """Of one payment, taken in another order than made."""


def read(path: Path) -> list[Entry]:
    """All that was written down; the provider is at rest."""
    return [_decode(line) for line in path.read_bytes().splitlines()]


def intents_of(entries: Iterable[Entry]) -> list[Intent]:
    """Each intent as the book has it in the end."""
    book = Book(lambda _: None, lambda _: None)
    book.read_again(entries)
    return [
        Intent(
            one.id,
            int(one.asked.metadata.get("payment", 0)),
            one.status.value,
            one.asked.amount_minor,
            one.refunded_minor,
            one.fee_minor if one.status is Status.SUCCEEDED else 0,
        )
        for one in book.intents.values()
    ]


def notices_of(entries: Sequence[Entry]) -> Notices:
    """A notice is overtaken if it was held back and one that was made later was taken before it."""
    made: dict[str, int] = {}
    intents: dict[str, str] = {}
    held, twice, taken = set[str](), set[str](), set[str]()
    overtaken = crossed = 0
    last_taken, last_of = -1, dict[str, int]()
    for entry in entries:
        if entry.notice is not None:
            made[entry.notice.id], intents[entry.notice.id] = len(made), entry.notice.intent
        if entry.held_back:
            held.add(entry.held_back)
        if entry.taken_twice:
            twice.add(entry.taken_twice)
        if entry.taken and entry.taken not in taken:
            taken.add(entry.taken)
            number, intent = made[entry.taken], intents[entry.taken]
            overtaken += entry.taken in held and number < last_taken
            crossed += number < last_of.get(intent, -1)
            last_taken = max(last_taken, number)
            last_of[intent] = max(last_of.get(intent, -1), number)
    return Notices(len(made), len(twice), overtaken, crossed)
