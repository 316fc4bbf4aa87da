"""The keys that were decided, at 64 bits each: tells repeats from first requests without asking Postgres.

A hit is only a suspicion (another key may have the same hash, or the batch that added it never
became true) and is confirmed in the ledger. A miss is certain as long as every decided key was added.
Python's str hash is seeded per process, so nobody outside can aim for collisions.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence


class Keys:
    """A set of hashed (buyer, request id); at most ~90 bytes a key."""

    __slots__ = ("_hashes",)

    def __init__(self, keys: Iterable[tuple[str, str]] = ()) -> None:
        self._hashes = {hash(key) for key in keys}

    def __len__(self) -> int:
        return len(self._hashes)

    def suspects(self, keys: Sequence[tuple[str, str]]) -> list[int]:
        """Remember all `keys`; the indexes of those that (or whose hash) were there before."""
        hashed = list(map(hash, keys))
        hashes = self._hashes
        before = len(hashes)
        if hashes.isdisjoint(hashed):  # nearly always, and quicker than one by one
            hashes.update(hashed)
            if len(hashes) == before + len(hashed):
                return []
            hashes.difference_update(hashed)
        return [index for index, key in enumerate(keys) if self.suspect(key)]

    def suspect(self, key: tuple[str, str]) -> bool:
        """Remember this key; True if it (or its hash) was there before."""
        hashes = self._hashes
        before = len(hashes)
        hashes.add(hash(key))
        return len(hashes) == before
