"""The waiting list: who waits for what, in the order of their decisions. Pure; part of `Memory`.

Entries with equal choices are a group: what one of them cannot have for want of seats, none can. A
group that was tried in vain sleeps until something comes free that it lacked, so one freed seat does
not cost a look at everybody who waits. That is only a short cut: a group that sleeps could not be served if
it were tried, so whoever remembers less (after loading nothing is remembered) offers the same.

Only *steady* choices may sleep: those that what others take never makes possible. A choice of several
parties is found one party after the other, so a seat less can lead to a better way; it is restless.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeVar

from allocator.layout import Layout
from allocator.ordered import Ordered
from allocator.wishes import Option, Wish, Wishes
from store.words import WaitId

OFFERS_PER_BATCH_MAX = 8_000
"""So that a batch's positions stay below 2**16, and nobody waits long for a batch of offers. Decisions depend
on it: another number is another `CODE_VERSION`."""

Lack = int | tuple[int, int]
"""What a sleeping group waits for: a seat's number, an area's (as `~area`), or (mask of blocks, party size)
that sits together, where a size of 0 stands for any seat of these blocks."""
L = TypeVar("L", int, tuple[int, int])


class Group:
    """Those who wait for the same."""

    __slots__ = ("lacks", "waits", "wish")

    def __init__(self, wish: Wish) -> None:
        self.wish = wish
        self.waits = Ordered()
        """Wait ids."""
        self.lacks: tuple[Lack, ...] = ()
        """Sleeps until one of these comes free; empty while it is awake."""


class Entry(NamedTuple):
    """A request that waits."""

    buyer: str
    request_id: str
    group: Group
    wish: Wish
    """Equal to the group's in what can be had for it now; not in its words."""


class WaitingList:
    """Changed only through an `Overlay` (or while loading)."""

    __slots__ = (
        "_came_free",
        "_lacking",
        "_lacking_parties",
        "_rank_of",
        "awake",
        "count_by_buyer",
        "entries",
        "groups",
        "order",
        "restless",
    )

    def __init__(self, rank_of: Sequence[int]) -> None:
        """`rank_of`: seat number → rank of its block."""
        self._rank_of = rank_of
        self.entries: dict[WaitId, Entry] = {}
        self.order = Ordered()
        self.groups: dict[tuple[Option, ...], Group] = {}
        self.restless: dict[tuple[Option, ...], Group] = {}
        """Those of `groups` that never sleep."""
        self.awake: set[Group] = set()
        self.count_by_buyer: dict[str, int] = {}
        """Entries of each buyer; buyers with none are left out."""
        self._lacking: dict[int, set[Group]] = {}
        self._lacking_parties: dict[tuple[int, int], set[Group]] = {}
        self._came_free = 0
        """Mask of the blocks in which a seat came free since groups were woken last."""

    def __len__(self) -> int:
        return len(self.entries)

    @property
    def asleep(self) -> bool:
        """Whether any group sleeps."""
        return bool(self._lacking or self._lacking_parties)

    def add(self, wait_id: WaitId, buyer: str, request_id: str, wish: Wish) -> None:
        """A request begins to wait."""
        group = self.groups.get(wish.options)
        if group is None:
            group = self.groups[wish.options] = Group(wish)
            self.awake.add(group)
            if not all(_is_steady(option) for option in wish.options):
                self.restless[wish.options] = group
        group.waits.add(wait_id)
        self.order.add(wait_id)
        self.entries[wait_id] = Entry(buyer, request_id, group, wish)
        self.count_by_buyer[buyer] = self.count_by_buyer.get(buyer, 0) + 1

    def remove(self, wait_id: WaitId) -> Entry:
        """A request that waits waits no longer."""
        entry = self.entries.pop(wait_id)
        group = entry.group
        group.waits.remove(wait_id)
        self.order.remove(wait_id)
        if not group.waits:
            self.wake(group)
            self.awake.discard(group)
            del self.groups[group.wish.options]
            self.restless.pop(group.wish.options, None)
        count = self.count_by_buyer.pop(entry.buyer) - 1
        if count:
            self.count_by_buyer[entry.buyer] = count
        return entry

    def under(self, layout: Layout) -> WaitingList:
        """The same list by another plan: what everyone wants is read again, and all are awake."""
        wishes, moved = Wishes(layout), WaitingList(layout.rank_of)
        for wait_id, entry in self:
            moved.add(wait_id, entry.buyer, entry.request_id, wishes.read_again(entry.wish.text))
        return moved

    def came_free(self, seats: Sequence[int], areas: Sequence[tuple[int, int]]) -> None:
        """Seats and places can be had again: who lacked one of them is tried in the next pass."""
        if not self.asleep:
            return
        for seat in seats:
            self._came_free |= 1 << self._rank_of[seat]
            self._wake_all(seat)
        for area, _ in areas:
            self._wake_all(~area)

    def wake_who_may_fit(self, fits: Sequence[int]) -> None:
        """Before a pass: parties for whom something came free. `fits`: party size → blocks that seat it."""
        came_free, self._came_free = self._came_free, 0
        if not came_free:
            return
        may_fit = [
            groups
            for (mask, size), groups in self._lacking_parties.items()
            if mask & came_free and (not size or mask & fits[size])
        ]
        for group in [group for groups in may_fit for group in groups]:
            self.wake(group)

    def sleep(self, group: Group, lacks: Sequence[Lack]) -> None:
        """It was tried in vain. `lacks`: without one of these it would be again."""
        group.lacks = tuple(dict.fromkeys(lacks))
        self.awake.discard(group)
        for lack in group.lacks:
            if isinstance(lack, tuple):
                self._lacking_parties.setdefault(lack, set()).add(group)
            else:
                self._lacking.setdefault(lack, set()).add(group)

    def wake(self, group: Group) -> None:
        """It is tried again in the next pass."""
        for lack in group.lacks:
            if isinstance(lack, tuple):
                _take_out(self._lacking_parties, lack, group)
            else:
                _take_out(self._lacking, lack, group)
        group.lacks = ()
        self.awake.add(group)

    def undo_sleep(self, groups: Sequence[Group]) -> None:
        """Of a batch that did not become true: who fell asleep in it is awake, and so is whoever may fit."""
        for group in groups:
            if self.groups.get(group.wish.options) is group:
                self.wake(group)
        self._came_free = -1

    def _wake_all(self, lack: int) -> None:
        for group in list(self._lacking.get(lack, ())):
            self.wake(group)

    def __iter__(self) -> Iterator[tuple[WaitId, Entry]]:
        for wait_id in self.order:
            yield WaitId(wait_id), self.entries[WaitId(wait_id)]


def _take_out(lacking: dict[L, set[Group]], lack: L, group: Group) -> None:
    groups = lacking[lack]
    groups.discard(group)
    if not groups:
        del lacking[lack]


def _is_steady(option: Option) -> bool:
    """Whether what others take can never make it possible."""
    if option.up_to or not option.parties:
        return True
    (party, *others) = option.parties
    return not others and not (party.apart and party.accessible > 1)
