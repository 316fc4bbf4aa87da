"""What a storm showed, added up from what was judged. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

import msgspec
from msgspec import Struct, field

from bench.evidence import Finding
from bench.payments.storming.evidence import Rows
from bench.payments.storming.judge import BACK, BOUGHT, KINDS, balances
from bench.payments.storming.plan import Victim

LONG_ENOUGH: Final = 500
"""With so many buyers everything that a storm is for takes place."""


class Result(Struct):
    """Its JSON has these fields, `passed`, `never` and `counts`."""

    seed: int
    buyers: int
    waves: int = 0
    seconds: float = 0.0
    held: int = 0
    paid: int = 0
    """Payments whose money came."""
    paid_while_redis_away: int = 0
    orders: int = 0
    reacquired: int = 0
    """Orders of seats that were asked for again, as the money came late."""
    refunded: int = 0
    reasons: dict[str, int] = field(default_factory=dict)
    killed: dict[str, int] = field(default_factory=dict)
    notices: int = 0
    messages: int = 0
    deliveries: int = 0
    taken_minor: int = 0
    given_back_minor: int = 0
    provider_fees_minor: int = 0
    clients: dict[str, int] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)

    @property
    def counts(self) -> dict[str, int]:
        """Findings by kind; `other` is what is no kind of the judge's."""
        found = Counter(one.kind if one.kind in KINDS else "other" for one in self.findings)
        return {kind: found[kind] for kind in (*KINDS, "other")}

    @property
    def never(self) -> list[str]:
        """What should have taken place, and did not: then the storm says little."""
        wanted = {"orders": self.orders}
        if self.buyers >= LONG_ENOUGH:
            wanted |= {"refunded": self.refunded, "reacquired": self.reacquired}
            wanted |= {"paid while Redis was away": self.paid_while_redis_away}
            wanted |= {f"{victim} killed": self.killed.get(victim.value, 0) for victim in Victim}
        return [what for what, count in wanted.items() if count <= 0]

    @property
    def passed(self) -> bool:
        return not self.findings and not self.never

    def as_json(self) -> dict[str, Any]:
        built: dict[str, Any] = msgspec.to_builtins(self)
        return built | {"passed": self.passed, "never": self.never, "counts": self.counts}


def summed_up(result: Result, rows: Rows, findings: Sequence[Finding]) -> Result:
    """With what the rows say."""
    paid = [payment for payment in rows.payments if payment.money]
    bought = [payment for payment in paid if payment.state == BOUGHT]
    money = balances(rows).values()
    result.paid, result.orders = len(paid), len(bought)
    result.reacquired = sum(payment.order_id != payment.hold_id for payment in bought)
    result.refunded = sum(payment.state == BACK for payment in paid)
    result.messages, result.deliveries = len(rows.outbox), sum(rows.delivered.values())
    result.taken_minor = sum(one.taken for one in money)
    result.given_back_minor = sum(one.given_back for one in money)
    result.provider_fees_minor = sum(one.provider_fees for one in money)
    result.findings += findings
    return result
