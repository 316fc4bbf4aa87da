"""Judges a run: what clients saw against what the database holds. Pure: no clock, no I/O.

`judge` gives findings of these kinds, none for a run that kept the laws:

| kind | what happened |
|---|---|
| `oversold` | a seat in two live holds, an area over its capacity, two clients who believe in one seat |
| `lost` | acknowledged and not in the ledger, or decided and its waiting client never told |
| `doubled` | one key with two decisions, two ledger rows or two holds; one arrival decided twice |
| `reordered` | decided out of arrival order, refused what a later arrival then got, overtaken on the list |
| `foreign_hold` | a hold that is not its request's buyer's, or shown to or changed by somebody else |
| `unexplained` | an answer or a seat that the ledger does not account for |
| `inconsistent` | tables that contradict each other, batches with gaps |
| `late` | no law broken: overtaken, or asked anew, because with the stream those who waited were gone too |

It walks the ledger with arithmetic of its own and does not use the decision function; whether the
same decisions come out again is what `./run verify` replays.
"""

from __future__ import annotations

from collections.abc import Sequence

from bench.checks.answers import check_answers
from bench.checks.holders import check_holders
from bench.checks.order import check_order
from bench.checks.tables import check_tables
from bench.checks.waiters import check_waiting
from bench.checks.waiting import check_list
from bench.checks.walk import Walker
from bench.evidence import Finding, Loss, Seen, Truth

KINDS = ("oversold", "lost", "doubled", "reordered", "foreign_hold", "unexplained", "inconsistent", "late")


def judge(seen: Sequence[Seen], truth: Truth, losses: Sequence[Loss] = ()) -> list[Finding]:
    """All findings, worst kind first. Call it when the run is over and everything accepted is decided.

    `seen` are the clients of one machine (their clock is compared); several may share a buyer. `losses`
    are for those who break things on purpose and know what they broke.
    """
    walker = Walker(truth)
    walk = walker.run()
    findings = [*walk.findings, *check_list(truth, walker.list)]
    findings.extend(check_tables(truth, walk))
    findings.extend(check_order(seen, truth, walk, losses))
    findings.extend(check_answers(seen, truth, walk, losses))
    findings.extend(check_holders(seen, truth, walk))
    findings.extend(check_waiting(seen, truth))
    return sorted(dict.fromkeys(findings), key=lambda finding: KINDS.index(finding.kind))
