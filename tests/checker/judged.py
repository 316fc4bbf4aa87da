"""The clean sale with something changed in it, judged."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bench.checker import judge
from bench.evidence import Finding, Seen, Truth
from tests.checker import sale

Corrupt = Callable[[Truth, list[Seen]], object]


def judged(*corrupts: Corrupt) -> list[Finding]:
    truth, seen = sale.truth(), sale.seen()
    for corrupt in corrupts:
        corrupt(truth, seen)
    return judge(seen, truth)


def of_kind(findings: list[Finding], kind: str) -> str:
    return "\n".join(finding.story for finding in findings if finding.kind == kind)


def replaced(truth: Truth, index: int, **fields: Any) -> None:
    truth.ledger[index] = truth.ledger[index]._replace(**fields)


def of_buyer(seen: list[Seen], buyer: str) -> Seen:
    return next(client for client in seen if client.buyer == buyer)
