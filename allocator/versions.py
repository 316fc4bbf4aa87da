"""How each version of the decision decided: what a ledger names is reachable for as long as ledgers are.

A version is how wants were read and how a batch was decided. Where a change leaves all other answers as they
were, today's decision is the old one's, with wants read as they were then; where it does not, what was
decided otherwise is kept in a module of its own. Who changes what is decided raises `CODE_VERSION`, adds how
it was before here, and records the new one (`tests/allocator/recorded`): a recording that comes out otherwise
fails.

| version | what it decided otherwise than the next |
|---|---|
| 1 | the best seats were the first in the plan's order; no parties, fallbacks, prices (`version_one`) |
| 2 | no moves: a want that has one could not be read |
| 3 | no waiting list: `waitlist` in a want changed nothing |
| 4 | today's |
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Final, NamedTuple

import msgspec
from msgspec import Meta

from allocator.decide import CODE_VERSION, Ask, Fact, decide
from allocator.decided import Decided
from allocator.memory import Memory, Overlay
from allocator.version_one import FirstWishes, decide_first
from allocator.wishes import UNREADABLE, Wish, Wishes
from store.wire import decode_want, encode_want
from store.words import FALLBACKS_MAX, Choice

Decide = Callable[[Memory, Overlay, int, int, Sequence[Fact], Sequence[Ask]], Decided]


class _Unmoved(Choice, frozen=True, forbid_unknown_fields=True):
    """A want before a hold could be moved."""

    fallbacks: Annotated[tuple[Choice, ...], Meta(max_length=FALLBACKS_MAX)] = ()


_decode_unmoved = msgspec.json.Decoder(_Unmoved).decode


class WishesWithoutMoves(Wishes):
    """Of version 2."""

    __slots__ = ()

    def _read(self, text: bytes) -> Wish:
        try:
            _decode_unmoved(text)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return Wish(UNREADABLE)
        return super()._read(text)


class WishesWithoutList(Wishes):
    """Of version 3."""

    __slots__ = ()

    def _read(self, text: bytes) -> Wish:
        try:
            want = decode_want(text)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return Wish(UNREADABLE)
        return super()._read(encode_want(msgspec.structs.replace(want, waitlist=False)))


class Version(NamedTuple):
    """How it read wants, and how it decided."""

    wishes: type[Wishes]
    decide: Decide


VERSIONS: Final[dict[int, Version]] = {
    1: Version(FirstWishes, decide_first),
    2: Version(WishesWithoutMoves, decide),
    3: Version(WishesWithoutList, decide),
    CODE_VERSION: Version(Wishes, decide),
}
"""By the number that a batch names."""
