"""What is good once: remembered from its use to its end, in bounded memory. Pure."""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

from gateway.problems import Busy

USED_MAX: Final = 500_000
"""Used and not over yet, remembered; at the bound nothing more is believed for a while."""


class Used:
    """One gateway's, of one kind."""

    def __init__(self, used_max: int = USED_MAX) -> None:
        self._ends: OrderedDict[str, float] = OrderedDict()
        """Name and end of each that was used; in the order of their use."""
        self._used_max = used_max

    def __len__(self) -> int:
        return len(self._ends)

    def __contains__(self, name: str) -> bool:
        return name in self._ends

    def use(self, name: str, ends_at: float, now: float) -> bool:
        """Whether this is its first use; raises `Busy` (too_many_proofs) where no more can be remembered."""
        if name in self._ends:
            return False
        while self._ends and (len(self._ends) >= self._used_max or self._first_end() < now):
            if self._first_end() >= now:
                raise Busy("too_many_proofs", "Too many join here now. Try again in a minute.")
            self._ends.popitem(last=False)
        self._ends[name] = ends_at
        return True

    def _first_end(self) -> float:
        return next(iter(self._ends.values()))
