"""Rare paths: what a simulation of many on-sales must have seen, or it proves less than it says."""

from __future__ import annotations

from collections.abc import Mapping

ENOUGH_SEEDS = 200
"""From so many on-sales on, a path that must be taken and was not is a failure."""

PATHS: dict[str, str] = {
    "held": "requests that got a hold",
    "taken": "refused, somebody has it",
    "sold_out": "refused, nothing left that fits",
    "limit_reached": "refused, too many for one buyer",
    "conflict": "a key used again with other content",
    "repeated": "a key asked again and answered as it was",
    "invalid": "what cannot be decided",
    "unreadable": "entries that cannot be read",
    "closed": "asked after the sale was closed",
    "waitlisted": "requests put on the waiting list",
    "offer": "offers of what came back",
    "passed_over": "offers past somebody who waited longer and could not be served",
    "left": "buyers who left the list",
    "left_too_late": "buyers who left and had been offered something meanwhile",
    "offer_lost_race": "offers to somebody who left in the same moment",
    "waiting_bound": "buyers who wait with as many requests as they may",
    "confirm": "holds paid",
    "release": "holds given back",
    "extend": "holds extended",
    "moved": "holds moved to other seats",
    "kept": "holds that could not be moved and stayed",
    "no_such_hold": "somebody tried to move a hold that is none of theirs, or over",
    "release_some": "some of a hold given back",
    "desk_not_in_hold": "somebody tried to give back what a hold has not",
    "desk_no_extensions_left": "somebody tried to extend a hold too often",
    "desk_hold_not_found": "somebody tried to change another one's hold",
    "expired": "holds that ran out",
    "event_changed": "pauses, resumptions, new rules, closings",
    "paused_meanwhile": "a batch that found the event paused",
    "killed": "processes killed",
    "stopped": "processes stopped, and gone on later",
    "gateway_killed": "gateways killed",
    "takeover": "takeovers of the event",
    "backend_ended": "an old owner's backend ended",
    "fenced": "owners that found themselves replaced",
    "lock_wait": "transactions that waited for another one's row",
    "serialization_failure": "transactions refused by Postgres",
    "short_write": "writes that won fewer rows than decided",
    "redone": "batches decided again",
    "halved": "batches halved",
    "alert_invalid": "requests that could not be decided alone",
    "reloaded": "memory read anew in the middle of a batch",
    "outcome_unknown_committed": "a COMMIT whose reply was lost",
    "outcome_unknown_not_committed": "a COMMIT that was lost itself",
    "outcome_unknown_committed_late": "a COMMIT that arrived after it was given up",
    "append_unknown_done": "an append whose reply was lost",
    "append_unknown_late": "an append that arrived after it was given up",
    "append_unknown_not_done": "an append that was lost itself",
    "append_doubled": "entries appended twice",
    "publication_lost": "decisions that were not announced",
    "publication_doubled": "decisions announced twice",
    "stream_wiped": "streams lost whole",
    "stream_tail_lost": "streams that came back older",
    "stream_clock_jumped": "jumps of the stream's clock",
    "created": "streams created anew",
    "gathered": "gathered what was asked again after a loss",
    "not_trimmed": "trims refused: the stream was lost since it was read",
    "reappended": "appended again from below the cursor",
    "postgres_away": "Postgres away for seconds",
    "postgres_restarted": "Postgres restarted",
    "postgres_clock_jumped": "jumps of Postgres' clock",
    "block": "seats and places blocked by operators",
    "unblock": "and put on sale again",
    "release_hold": "holds taken away by operators",
    "sell": "seats and places sold by operators",
    "take_back": "orders taken back by operators",
    "buyers_return": "orders returned by their buyers",
    "office_order_not_found": "somebody tried to return what another one bought",
    "office_not_in_order": "somebody tried to take back what an order has not",
    "office_seats_not_free": "somebody had a seat that was to be blocked",
    "office_places_not_free": "or a place",
    "outage": "outages after which holds got time back",
    "unattended": "owners that found that nobody had attended for long",
    "recategorised": "seats and areas moved to other categories by operators",
    "plan_moved": "a batch whose requests were read by the plan before",
    "office_category_limited": "somebody tried to move what is of a limited category",
    "mismatch": "standbys that loaded anew",
    "category_refused": "refused, too many of one category for one buyer",
    "tour_refused": "refused, too many for one buyer on the dates of a tour",
    "elsewhere": "batches that knew what buyers have on other dates of a tour",
    "tour_wait": "batches that waited for a batch of another date of their tour",
}

OPTIONAL = frozenset({"mismatch"})
"""So rare that hundreds of on-sales may go without."""


def never_taken(counters: Mapping[str, int], seeds: int) -> list[str]:
    """Paths that should have been taken in so many on-sales and were not."""
    if seeds < ENOUGH_SEEDS:
        return []
    return [name for name in PATHS if name not in OPTIONAL and not counters.get(name)]
