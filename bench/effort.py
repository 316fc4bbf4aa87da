"""How much a run may cost: the whole measure with medians, or a quick look with one round each."""

from __future__ import annotations

from msgspec import Struct


class Effort(Struct, frozen=True):
    quick: bool = False

    def rounds(self, whole: int) -> int:
        """How many rounds to take the median of."""
        return 1 if self.quick else whole

    def seconds(self, whole: float) -> float:
        """How long a round should last."""
        return whole / 2 if self.quick else whole

    def size(self, whole: int, quick: int) -> int:
        return quick if self.quick else whole
