"""What a storm showed, added up from what was judged; and whether what it is for took place. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec
from msgspec import Struct, field

from bench.evidence import Finding
from bench.payments.storming.evidence import Rows
from bench.payments.storming.journal import Notices
from bench.payments.storming.judge import KINDS
from bench.payments.storming.plan import TakenBack, Victim
from bench.payments.storming.sums import BACK, balances

LONG_ENOUGH: Final = 250
"""With so many holds a wave everything that a storm is for takes place."""
DUPLICATES_MIN: Final = 0.20
REORDERED_MIN: Final = 0.10
LATE_MIN: Final = 0.10
WITHOUT_REDIS_MIN: Final = 0.5
"""Of the second wave's holds: became orders while Redis was away."""


class Took(Struct):
    """How long a wave's phases took, and what its buyers waited for."""

    ttl_seconds: int
    phases: dict[str, float]
    waits: dict[str, dict[str, float]]
    """What for → how many did, and how long: the median, 95 of a hundred, the longest, in seconds."""

    @classmethod
    def of(cls, ttl_seconds: int, phases: dict[str, float], waits: Mapping[str, Sequence[float]]) -> Took:
        return cls(ttl_seconds, phases, {what: _spread(each) for what, each in waits.items()})


class Result(Struct):
    """Its JSON has these fields, `passed`, `never`, `shares` and `counts`."""

    seed: int
    holds: int
    """Asked for in each wave."""
    buyers: int = 0
    waves: list[Took] = field(default_factory=list)
    seconds: float = 0.0
    seconds_judging: float = 0.0
    held: int = 0
    paid: int = 0
    """Payments whose money came."""
    paid_late: int = 0
    """Of them: when the hold had run out."""
    paid_while_redis_away: int = 0
    """Holds that became orders then."""
    orders: int = 0
    reacquired: int = 0
    """Orders of seats that were asked for again, as the money came late."""
    with_places: int = 0
    """Orders that have standing places, ..."""
    with_both: int = 0
    """... and those of them that have numbered seats, too."""
    refunded: int = 0
    """Payments of which all went back."""
    reasons: dict[str, int] = field(default_factory=dict)
    taken_back: int = 0
    """Orders that the organiser took back, whole, ..."""
    taken_in_part: int = 0
    canceled: int = 0
    """Payments of canceled events: all of their money went back."""
    killed: dict[str, int] = field(default_factory=dict)
    notices: Notices = field(default_factory=Notices)
    messages: int = 0
    deliveries: int = 0
    taken_minor: int = 0
    given_back_minor: int = 0
    standing_minor: int = 0
    provider_fees_minor: int = 0
    clients: dict[str, int] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    kept: str = ""
    """The folder where logs and rows of a storm that did not pass are."""

    def add(self, buyers: int, held: int, findings: Sequence[Finding], took: Took) -> None:
        """One wave."""
        self.buyers += buyers
        self.held += held
        self.findings += findings
        self.waves.append(took)

    @property
    def counts(self) -> dict[str, int]:
        """Findings by kind; `other` is what is no kind of the judge's."""
        found = Counter(one.kind if one.kind in KINDS else "other" for one in self.findings)
        return {kind: found[kind] for kind in (*KINDS, "other")}

    @property
    def shares(self) -> dict[str, tuple[float, float]]:
        """What a storm promises → its share, and the least it must be."""
        made = self.notices.made
        return {
            "notices sent twice": (_share(self.notices.sent_twice, made), DUPLICATES_MIN),
            "notices overtaken": (_share(self.notices.overtaken, made), REORDERED_MIN),
            "paid past expiry": (_share(self.paid_late, self.paid), LATE_MIN),
            "bought while Redis was away": (
                _share(self.paid_while_redis_away, self.holds),
                WITHOUT_REDIS_MIN,
            ),
            "paid of the holds asked for": (_share(self.paid, len(self.waves) * self.holds), 1.0),
        }

    @property
    def never(self) -> list[str]:
        """What should have taken place, and did not, or too seldom: then the storm says little."""
        wanted = {"orders": self.orders}
        short = []
        if self.holds >= LONG_ENOUGH:
            wanted |= {"refunded": self.refunded, "reacquired": self.reacquired}
            wanted |= {"standing places": self.with_places, "both in one order": self.with_both}
            wanted |= {"taken back": self.taken_back, "taken back in part": self.taken_in_part}
            wanted |= {"an event canceled": self.canceled, "crossed": self.notices.crossed}
            wanted |= {f"{victim} killed": self.killed.get(victim.value, 0) for victim in Victim}
            short = [
                f"{what}: {100 * share:.1f} %, at least {100 * least:g} % are wanted"
                for what, (share, least) in self.shares.items()
                if share < least
            ]
        return [what for what, count in wanted.items() if count <= 0] + short

    @property
    def passed(self) -> bool:
        return not self.findings and not self.never

    def as_json(self) -> dict[str, Any]:
        built: dict[str, Any] = msgspec.to_builtins(self)
        shares = {what: round(share, 4) for what, (share, _) in self.shares.items()}
        return built | {"passed": self.passed, "never": self.never, "counts": self.counts, "shares": shares}


def summed_up(result: Result, rows: Rows, findings: Sequence[Finding]) -> Result:
    """With what the rows say."""
    paid = [payment for payment in rows.payments if payment.money]
    bought = [payment for payment in paid if payment.order_id is not None]
    money = balances(rows).values()
    result.paid, result.orders = len(paid), len(bought)
    result.reacquired = sum(payment.order_id != payment.hold_id for payment in bought)
    result.refunded = sum(payment.state == BACK for payment in paid)
    result.canceled = sum(payment.event_id in rows.canceled for payment in paid)
    standing = {(one.event_id, one.hold_id): one for one in rows.holds if one.places}
    result.with_places = len(standing)
    result.with_both = sum(bool(one.seats) for one in standing.values())
    taken = Counter(one.what for one in rows.returned)
    result.taken_back, result.taken_in_part = taken[TakenBack.ALL], taken[TakenBack.SOME]
    result.messages, result.deliveries = len(rows.outbox), sum(rows.delivered.values())
    result.taken_minor = sum(one.taken for one in money)
    result.given_back_minor = sum(one.given_back for one in money)
    result.standing_minor = sum(one.orders_worth for one in money)
    result.provider_fees_minor = sum(one.provider_fees for one in money)
    result.findings += findings
    return result


def _share(count: int, of: int) -> float:
    return count / of if of else 0.0


def _spread(seconds: Sequence[float]) -> dict[str, float]:
    ordered = sorted(seconds)
    places = {"median": len(ordered) // 2, "p95": len(ordered) * 95 // 100, "most": len(ordered) - 1}
    return {"count": len(ordered)} | {name: round(ordered[place], 2) for name, place in places.items()}
