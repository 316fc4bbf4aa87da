"""Was any law broken in a round? The checker and the replay say so, and what only a torture can see."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from http import HTTPStatus
from itertools import pairwise
from typing import Any

from msgspec import Struct, field

from bench.checks.tour import check_tour
from bench.evidence import Finding, LedgerRow, Seen, Truth, read_json
from bench.target import examine
from bench.torture.buyer import held
from bench.torture.faults import losses
from bench.torture.fleet import FleetSaw
from bench.torture.mover import Move
from bench.torture.rounds import Played

STALLED_SECONDS = 15.0
"""Nothing decided for so long after the last healing is a finding."""


BY_BUYERS = ("offers", "waitlisted", "left", "moves", "extensions", "parts_released")
"""What buyers do besides asking and buying."""
BY_RULES = ("category_refused", "tour_refused", "sold_by_hand", "taken_back", "recategorised")
"""What limits refuse, and what operators sell, take back and move to other categories."""
USES = (*BY_BUYERS, *BY_RULES)
"""A torture without one of these says nothing about it."""
FACTS_USED = {
    "left": "left",
    "extended": "extensions",
    "sold": "sold_by_hand",
    "returned": "taken_back",
    "recategorised": "recategorised",
}


class RoundResult(Struct):
    """What a round showed."""

    number: int
    event: str
    faults: list[str] = field(default_factory=list)
    """Told with seconds since the round began."""
    faults_by_kind: Counter[str] = field(default_factory=Counter)
    asked: int = 0
    decisions: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    epochs: int = 0
    late: int = 0
    """Requests the stream lost that were overtaken, or asked anew, because who waited was gone as well."""
    used: Counter[str] = field(default_factory=Counter)
    """How often each of `USES` took place."""
    gap_seconds: float = 0.0
    """The longest time without a decision, under load."""
    gap_fault: str = ""
    errors: dict[str, int] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)


def judge_round(database_url: str, played: Played) -> RoundResult:
    """Ask the checker and the replay, then what only a torture can see."""
    saw, lost = played.saw, losses(played.broken)
    judged, truth = examine(database_url, played.event, saw.seen, lost)
    rows = list(truth.ledger)
    if played.other is not None:
        also_judged, other = examine(database_url, played.other.event, played.other.saw.seen, lost)
        rows += other.ledger
        judged += [*also_judged, *check_tour([truth, other])]
    findings = [finding for finding in judged if finding.kind != "late"]
    requests = [row for row in rows if row.kind == "request"]
    result = RoundResult(
        played.number,
        played.event.slug,
        [broken.story(played.began_at) for broken in played.broken],
        Counter(broken.kind for broken in played.broken),
        asked=sum(len(one.asks) for one in played.all_seen),
        decisions=len(requests),
        outcomes=Counter(row.outcome for row in requests),
        epochs=len({batch.epoch for batch in truth.batches}),
        used=Counter(use for row in rows if (use := used_in(row))),
    )
    findings += played.noticed
    for each in [saw] if played.other is None else [saw, played.other.saw]:
        findings += unanswered(each)
        findings += own_holds_denied(each.seen)
        findings += strange_errors(each.errors)
        result.errors = dict(Counter(result.errors) + Counter(each.errors))
    findings += moves_misanswered(played.moves, limited=has_limits(truth))
    findings += moves_unmade(played.moves, truth)
    findings += troubles(played)
    findings += stalled(truth, played, result)
    result.late = sum(finding.kind == "late" for finding in judged)
    result.findings = list(dict.fromkeys(findings))
    return result


def used_in(row: LedgerRow) -> str:
    """Which of `USES` a row of the ledger is, or an empty text."""
    if row.kind == "offer":
        return "offers"
    if row.kind == "request":
        if row.outcome == "waitlisted":
            return "waitlisted"
        if row.outcome == "limit_reached":
            return _limit_of(read_json(row.result))
        return "moves" if row.outcome == "held" and "moved" in read_json(row.result) else ""
    if row.kind != "fact":
        return ""
    some = row.outcome == "released" and read_json(row.input).get("body") is not None
    return "parts_released" if some else FACTS_USED.get(row.outcome, "")


def _limit_of(result: dict[str, Any]) -> str:
    """Which of `USES` a refusal is."""
    if result["reason"] == "tour_limit":
        return "tour_refused"
    return "category_refused" if "category" in result else ""


def troubles(played: Played) -> list[Finding]:
    """What the torturer could not do."""
    return [
        Finding("trouble", f"{broken.story(played.began_at)}: {broken.trouble}")
        for broken in played.broken
        if broken.trouble
    ]


def has_limits(truth: Truth) -> bool:
    """Whether somebody may have only so much of a category."""
    rules = [read_json(row.input)["body"] for row in truth.ledger if row.outcome == "policy"]
    return any(body.get("limits") for body in rules)


def moves_misanswered(moves: Sequence[Move], *, limited: bool) -> list[Finding]:
    """Moves to other categories that were made or refused without reason."""
    found = []
    for move in moves:
        outdated = move.asked is not None and move.asked < move.known
        if move.status == HTTPStatus.OK:
            # the plan is the one that was named, as there was nothing to move, or the next one
            right = move.version >= move.known if move.asked is None else 0 <= move.version - move.asked <= 1
            if outdated or not right:
                found.append(Finding("unexplained", f"{move.told} with plan {move.version}."))
        elif not (
            (move.code == "plan_changed" and (outdated or (move.asked is not None and move.unsure)))
            or (move.code == "category_limited" and limited)
        ):
            found.append(Finding("unexplained", f"{move.told}, for no reason."))
    return found


def plans_by_ledger(truth: Truth) -> list[dict[str, str]]:
    """Guid of a seat or area → its category: when the sale began, and after each move of it."""
    plan = truth.plan
    names = [category.name for category in plan.categories]
    now = {seat.guid: names[seat.category] for seat in plan.seats}
    plans = [now | {area.guid: names[area.category] for area in plan.areas}]
    for row in truth.ledger:
        if row.outcome == "recategorised":
            body = read_json(row.input)["body"]
            moved = [plan.seats[seat].guid for seat in body["seats"]]
            moved += [plan.areas[area].guid for area in body["areas"]]
            plans.append(plans[-1] | dict.fromkeys(moved, names[body["category"]]))
    return plans


def moves_unmade(moves: Sequence[Move], truth: Truth) -> list[Finding]:
    """Moves that the operator was told of and that the ledger knows nothing of, or otherwise."""
    plans, found = plans_by_ledger(truth), []
    to_come = sum(kind == "recategorised" for kind, _ in truth.facts)
    for move in moves:
        if move.status != HTTPStatus.OK:
            continue
        if move.version >= len(plans) + to_come:
            story = f"{move.told} with plan {move.version}; the ledger moved {len(plans) - 1} times"
            found.append(Finding("lost", f"{story}."))
        elif move.version < len(plans):
            now = plans[move.version]
            wrong = [guid for guid in (*move.seats, *move.areas) if now[guid] != move.category]
            if wrong:
                story = (
                    f"{move.told} with plan {move.version}; by the ledger {wrong[0]} is of {now[wrong[0]]}"
                )
                found.append(Finding("unexplained", f"{story} then."))
    return found


def unanswered(saw: FleetSaw) -> list[Finding]:
    """What was asked for until long after the healing, in vain."""
    return [
        Finding("unanswered", f"{what} got no answer, long after everything was healed.")
        for what in saw.unanswered
    ]


def own_holds_denied(seen: list[Seen]) -> list[Finding]:
    """A hold that somebody was told they have, and then that there is no such hold of theirs."""
    found = []
    mine: dict[str, set[str]] = {}
    for one in seen:
        holds = mine.setdefault(one.buyer, set())
        holds.update(hold for ask in one.asks if (hold := held(ask)))
        holds.update(str(read_json(frame)["result"]["hold"]) for frame in one.offers)
    for one in seen:
        for op in one.hold_ops:
            if op.error == "hold_not_found" and op.hold in mine[one.buyer]:
                story = f"{one.buyer} was told it has hold {op.hold}, then that it has no such hold."
                found.append(Finding("unexplained", story))
    return found


EXPECTED_CLOSES = ("1001", "1005", "1006", "1012", "1013", "4409")


def strange_errors(errors: dict[str, int]) -> list[Finding]:
    """Errors that no fault explains: a 500, a socket closed for a reason that is not a fault's."""
    found = []
    for error, count in errors.items():
        odd = error.startswith(("500", "501", "400", "401", "403")) or "not JSON" in error
        odd = odd or (error.startswith("closed: ") and not error[8:].startswith(EXPECTED_CLOSES))
        if odd:
            found.append(Finding("unexplained", f"Clients were answered {error!r} {count} times."))
    return found


def stalled(truth: Truth, played: Played, result: RoundResult) -> list[Finding]:
    """Sets the longest gap and its faults; a finding where no fault explains it."""
    deciding = {row.batch_no for row in truth.ledger if row.kind == "request"}
    times = sorted(batch.batch_time / 1e6 for batch in truth.batches if batch.batch_no in deciding)
    if not times:
        return [Finding("stalled", "Nothing was decided in the whole round.")]
    within = [*[at for at in times if at <= played.load_ended_at], played.load_ended_at]
    start, end = max(pairwise([times[0], *within]), key=lambda gap: gap[1] - gap[0])
    during = [each for each in played.broken if each.at < end and each.healed_at > start - 1.0]
    result.gap_seconds = round(end - start, 2)
    result.gap_fault = f"at {start - played.began_at:.1f} s: " + "; ".join(
        each.story(played.began_at) for each in during
    )
    healed = max((each.healed_at for each in during), default=start)
    if end - max(start, healed) > STALLED_SECONDS:
        story = f"Nothing was decided for {end - start:.1f} s, {end - healed:.1f} s after healing"
        return [Finding("stalled", f"{story}: {result.gap_fault}.")]
    return []
