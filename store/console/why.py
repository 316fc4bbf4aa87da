"""Why a request was answered so, in words for who explains it to its buyer: pure. Names no other buyer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from msgspec import Struct

from store.wire import arrival_order
from store.words import Outcome

SEATS_TOLD_MAX: Final = 4


class Rival(Struct, frozen=True):
    """Who had a seat when somebody else asked for it: a place in the ledger, or an operator."""

    seat: str
    batch_no: int | None
    """Where its request was decided; None: an operator took it off sale, or sold it by hand."""
    position: int | None
    arrival: str | None
    own: bool
    """It was the buyer's own by then."""


def why(outcome: Outcome, result: dict[str, Any], arrival: str, rivals: Sequence[Rival]) -> str:
    """One or two sentences."""
    if outcome is Outcome.HELD:
        given = _listed([*result.get("seats", ()), *result.get("areas", {})])
        moved = f", instead of hold {result['moved']}" if "moved" in result else ""
        return f"Given {given} as hold {result.get('hold')}{moved}."
    if outcome is Outcome.TAKEN:
        told = " ".join([_taken(rival, arrival) for rival in rivals[:SEATS_TOLD_MAX]])
        return told or f"Somebody had {_listed(result.get('taken', ()))} already."
    if outcome is Outcome.WAITLISTED:
        refused = Outcome(result["why"])
        instead = why(refused, result.get("detail", {}), arrival, ())
        return f"{instead} It waits for what comes back, at place {result.get('position')} of the list."
    return _refused(outcome, result)


def _refused(outcome: Outcome, result: dict[str, Any]) -> str:
    reason, limit = result.get("reason"), result.get("limit")
    if outcome is Outcome.LIMIT_REACHED:
        if reason == "waiting":
            return f"The buyer has {limit} requests on the waiting list, as many as one buyer may have."
        if reason == "tour_limit":
            return f"Together with the tour's other dates it is more than one buyer may have: {limit}."
        category = f" of {result['category']}" if "category" in result else ""
        return f"It is more than one buyer may have{category}: {limit}."
    if outcome is Outcome.SOLD_OUT:
        if reason == "none_together":
            return f"No so many free seats were together; the most were {result.get('largest')}."
        if reason == "area_full":
            return f"The area had only {result.get('free')} places left."
        return "Nothing that fits was free."
    if outcome is Outcome.CLOSED:
        state = str(reason or "").removeprefix("event_") or "not on sale"
        return f"At this point of the order the event was {state}."
    if outcome is Outcome.CONFLICT:
        return "The same request id was used before with other content: its first decision stands."
    return f"It could not be decided: {reason or 'it is not readable'}."


def _taken(rival: Rival, arrival: str) -> str:
    if rival.own:
        return f"{rival.seat} was the buyer's own by then."
    if rival.batch_no is None:
        return f"{rival.seat} was off sale, or sold by hand, by an operator."
    if rival.arrival is None:
        return f"{rival.seat} had been offered to somebody on the waiting list (batch {rival.batch_no})."
    earlier_ms = arrival_order(arrival)[0] - arrival_order(rival.arrival)[0]
    when = f"{earlier_ms / 1_000:,.3f} s earlier" if earlier_ms > 0 else "before it in the same millisecond"
    where = f"batch {rival.batch_no}, position {rival.position}"
    return f"{rival.seat} went to another buyer, whose request arrived {when} ({where})."


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(map(str, names[:SEATS_TOLD_MAX]))
    return shown + (f" and {len(names) - SEATS_TOLD_MAX} more" if len(names) > SEATS_TOLD_MAX else "")
