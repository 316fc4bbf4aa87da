"""What `./run bench seating` found: three sales of each house, and the rows that onsale must reach."""

from __future__ import annotations

from msgspec import Struct, field

from bench.report import Report
from bench.seating.judge import Verdict

ONSALE, SKIP_LOCKED, GREEDY = "onsale", "skip_locked", "greedy"
NAMES = {ONSALE: "onsale", SKIP_LOCKED: "SKIP LOCKED", GREEDY: "greedy picker"}


class Sale(Struct):
    """One house sold one way."""

    house: str
    seats: int
    """Open to anybody: accessible places and their companions' are not in it."""
    strategy: str
    verdict: Verdict


class SeatingReport(Struct):
    """Everything a run found."""

    measured: Report
    """Rows, what the checker and the replay found, the machine."""
    sales: list[Sale] = field(default_factory=list)
    quick: bool = False

    @property
    def passed(self) -> bool:
        """Every row reached what it should and onsale gave nobody a wrong seat."""
        return self.measured.passed and not any(
            sale.verdict.wrong for sale in self.sales if sale.strategy == ONSALE
        )
