"""Rows about the moment the sale begins: the draw, and the ballot, as the event's owner does them.

Both are measured by Postgres' clock, from the lobby's end (the commit that opens the event) to the commit
that says it is done, on a throwaway onsale with two allocators of which one owns the event.
"""

from __future__ import annotations

import time
from typing import Final

import psycopg

from bench.effort import Effort
from bench.judging import judge_event
from bench.report import Report, Say, at_most, for_the_record
from bench.target import StageEvent, Target, throwaway_target
from bench.waiting_room.crowds import begin_sale, fill, make_room, seconds_until
from store.errors import OnsaleError
from store.room import draw, rooms
from store.room.words import RoomTerms

PLACES: Final = 1_000_000
WISHES: Final = 200_000
SEATS: Final = 100_000
ROUNDS: Final = 3
DRAW_SECONDS_REACH: Final = 10
BALLOT_SECONDS_REACH: Final = 8
SECONDS_MAX: Final = 120.0
LOOK_SECONDS: Final = 0.25


class NotDone(OnsaleError):
    """The event's owner did not come to an end; see the allocators' logs."""


def measure_draw(report: Report, say: Say, effort: Effort) -> None:
    """`draw`: a million places; and that the list is the one anybody can check."""
    count = effort.size(PLACES, PLACES // 10)
    seconds = []
    lawful = True
    with throwaway_target() as (target, _):
        for number in range(1, effort.rounds(ROUNDS) + 1):
            say(f"{count:,} places join: round {number}")
            event = make_room(target.database_url, RoomTerms(pace=1))
            fill(target.database_url, event, count)
            say(f"{count:,} places are drawn: round {number}")
            seconds.append(_open_until(target, event, "drawn_at"))
        say("the last draw is checked")
        with psycopg.connect(target.database_url) as conn:
            seed = rooms.read(conn, event.id).seed
            assert seed is not None, "it is revealed with the draw"
            listed = list(draw.export(conn, event.id))
            lawful = len(listed) == count and not draw.moved(seed, listed)
    note = f"{count:,} places, checked" if lawful else "the list is not the seed's"
    report.rows.append(at_most("draw", seconds, "s", DRAW_SECONDS_REACH, lawful=lawful, note=note))


def measure_ballot(report: Report, say: Say, effort: Effort) -> None:
    """`ballot`: every wish has its decision in the ledger, in the draw's order."""
    count = effort.size(WISHES, WISHES // 10)
    seconds, drawn = [], []
    lawful = True
    with throwaway_target() as (target, _):
        for number in range(1, effort.rounds(ROUNDS) + 1):
            say(f"{count:,} wishes are filed: round {number}")
            terms = RoomTerms(ballot=True, pace=1)
            event = make_room(target.database_url, terms, seats=SEATS)
            fill(target.database_url, event, count, wishes=True)
            say(f"{count:,} wishes are decided: round {number}")
            seconds.append(_open_until(target, event, "ballot_ended_at"))
            at = seconds_until(target.database_url, event, "drawn_at")
            assert at is not None, "it was drawn before"
            drawn.append(at)
            story = f"ballot, round {number}"
            lawful &= judge_event(report, target.database_url, event, [], story, say)
            lawful &= _in_order(target, event, count)
    note = f"{count:,} wishes for {SEATS:,} seats"
    report.rows += [
        at_most("ballot", seconds, "s", BALLOT_SECONDS_REACH, lawful=lawful, note=note),
        for_the_record("ballot_draw", drawn, "s", note="of it, the draw"),
    ]


def _open_until(target: Target, event: StageEvent, moment: str) -> float:
    begin_sale(target.database_url, event)
    give_up_at = time.monotonic() + SECONDS_MAX
    while time.monotonic() < give_up_at:
        seconds = seconds_until(target.database_url, event, moment)
        if seconds is not None:
            return seconds
        time.sleep(LOOK_SECONDS)
    raise NotDone


OUT_OF_ORDER: Final = """
SELECT count(*), count(*) FILTER (WHERE position < before) FROM (
  SELECT line.position, max(line.position) OVER (
           ORDER BY batch_no, ledger.position ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before
    FROM ledger JOIN place ON place.event_id = ledger.event_id AND place.buyer = ledger.buyer
    JOIN line ON line.place_id = place.id
   WHERE ledger.event_id = %(event)s AND kind = 'request' AND request_id = 'ballot') AS decided
"""


def _in_order(target: Target, event: StageEvent, count: int) -> bool:
    with psycopg.connect(target.database_url) as conn:
        row = conn.execute(OUT_OF_ORDER, {"event": event.id}).fetchone()
    return row == (count, 0)
