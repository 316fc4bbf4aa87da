"""Each look of the checker stands alone: what one sees it sees without the others' evidence."""

from __future__ import annotations

from bench.checker import judge
from tests.checker import sale
from tests.checker.sale import LEDGER


def test_a_ledger_that_gives_a_seat_that_is_held_is_oversold_though_no_client_tells():
    """dan's hold never expired, and eve gets the seat all the same; no client was asked."""
    truth = sale.truth()
    del truth.ledger[7]
    truth.ledger[7] = LEDGER[8]._replace(position=0)
    stories = [finding.story for finding in judge([], truth) if finding.kind == "oversold"]
    assert any("gave seat s1 while hold" in story for story in stories)
