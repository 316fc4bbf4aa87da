"""Brings a ballot's wishes into the event's stream, in the draw's order, and ends it when all are decided.

The loop decides them as it decides any request, each once, by its key. What is promised here is the order:
the first time a wish stands in the stream, every wish before it stands there before it, or is decided. So
what the loop reads, and the ledger, is at any time the ballot's order up to some rank. Two rules keep it,
whoever is killed, however many append at once and whatever the stream loses:

- a piece is begun at the first rank that the ledger lacks: all before it are decided, which stays true; or
- it goes behind the piece before, in one call that appends nothing where that is not in the stream any more
  (lost, or decided and forgotten). Then the ledger says where to go on.

Doing something twice is harmless: a wish appended again is a repeat, and answered as it was.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Sequence
from functools import partial
from typing import Any, Final, NamedTuple

import psycopg
from msgspec import Raw

from store.errors import OutcomeUnknown, StreamMissing, StreamUnavailable
from store.room import ballot
from store.room.ballot import FIRST, REQUEST_ID, Rank, Wish
from store.stream.port import REQUEST, Pieces, RawEntry
from store.wire import Entry, arrival_order, encode_entry
from store.words import Arrival

log = logging.getLogger("onsale.allocator")

PIECE_MAX: Final = 2_000
"""Most wishes appended in one call: bounds how long the stream's server is busy with it."""
AHEAD_MAX: Final = 12_000
"""Most wishes in the stream that the cursor has not passed: three whole batches."""
WAIT_SECONDS: Final = 0.02
"""While enough is in the stream: less than a batch takes."""
AWAY_SECONDS: Final = 0.3
"""Pause between tries while the stream is away, or lost and not made anew yet."""

STANDS: Final = """
-- Whether a ballot is to be decided, and up to where the stream is.
SELECT ballot AND drawn_at IS NOT NULL AND ballot_ended_at IS NULL, arrival
  FROM room JOIN event_cursor USING (event_id) WHERE event_id = %(event)s
"""


class Append(NamedTuple):
    """Append the wishes behind `after`; behind `last`, if it is there."""

    after: Rank
    last: RawEntry | None
    """None: all up to `after` are decided."""


class Check(NamedTuple):
    """Ask the ledger whether it has this buyer's wish, which was appended last."""

    buyer: str


class Look(NamedTuple):
    """Ask the ledger for the first rank that it lacks."""


class Wait(NamedTuple):
    """Enough is in the stream. See whether `last`, which was appended last, is there."""

    last: RawEntry


class Sweep:
    """What to do next, by what came of what was done. Pure; who begins anew begins at the ledger."""

    def __init__(self) -> None:
        self._after = FIRST
        """Up to here all is appended or decided."""
        self._last: RawEntry | None = None
        """What was appended last; None where nothing has to be before what follows."""
        self._buyer = ""
        """Whose that was."""
        self._ahead: deque[tuple[Arrival, int]] = deque()
        """(arrival of its last, wishes) of each piece that the cursor has not passed."""
        self._all = self._gone = False
        """All that is wished for was appended; what was appended last is not there any more."""
        self._unsure = True
        """Only the ledger knows where to go on."""

    def next(self) -> Append | Check | Look | Wait:
        """What to do now."""
        if self._gone:
            return Check(self._buyer)
        if self._unsure or (self._all and not self._ahead):
            return Look()  # at the end too: whatever was lost meanwhile, nobody is left out
        if not self._all and sum(count for _, count in self._ahead) + PIECE_MAX <= AHEAD_MAX:
            return Append(self._after, self._last)
        assert self._last is not None, "all is appended, or much of it"
        return Wait(self._last)

    def passed(self, cursor: Arrival) -> None:
        """The cursor is here."""
        while self._ahead and arrival_order(self._ahead[0][0]) <= arrival_order(cursor):
            self._ahead.popleft()

    def go_on_at(self, rank: Rank) -> None:
        """The first that the ledger lacks."""
        self._after, self._last = Rank(rank.lane, rank.position - 1), None
        self._all = self._unsure = False
        self._ahead.clear()

    def appended(self, through: Wish, last: RawEntry, count: int) -> None:
        """A piece is in the stream."""
        self._after, self._buyer, self._last = through.rank, through.buyer, last
        self._ahead.append((Arrival(last[0].decode()), count))

    def appended_all(self) -> None:
        """There are no more wishes."""
        self._all = True

    def gone(self) -> None:
        """What was appended last is not in the stream any more."""
        self._gone = True

    def checked(self, decided: bool) -> None:
        """It was decided, and so was all before it; or the stream lost it, and perhaps more."""
        self._gone, self._unsure, self._last = False, not decided, None
        self._ahead.clear()


class BallotKeeper:
    """The owner's part in one event's ballot: to be called again and again. Not thread-safe."""

    def __init__(self, event_id: int, pieces: Pieces) -> None:
        self._event_id = event_id
        self._pieces = pieces
        self._sweep = Sweep()

    def __call__(self, conn: psycopg.Connection[Any]) -> float | None:
        """Do what can be done now; the seconds after which to call again, None when no ballot is owed.

        Bounded: as many wishes as may be ahead of the cursor. Raises what Postgres raises; the next call goes
        on. An owner who lost the event and does not know it yet does no harm.
        """
        with conn.transaction():
            row = conn.execute(STANDS, {"event": self._event_id}).fetchone()
        if row is None or not row[0]:
            return None
        self._sweep.passed(Arrival(row[1]))
        try:
            return self._work(conn)
        except (StreamMissing, StreamUnavailable, OutcomeUnknown) as error:
            # made anew by the loop, above its cursor; what may be in the stream goes there again
            log.warning("event %d: the ballot waits for its stream: %s", self._event_id, error)
            return AWAY_SECONDS

    def _work(self, conn: psycopg.Connection[Any]) -> float | None:
        while True:
            match self._sweep.next():
                case Check(buyer):
                    self._sweep.checked(ballot.is_decided(conn, self._event_id, buyer))
                case Look():
                    first = ballot.first_undecided(conn, self._event_id)
                    if first is None:
                        self._end(conn)
                        return None
                    self._sweep.go_on_at(first)
                case Append(after, last):
                    wishes = ballot.next_wishes(conn, self._event_id, after, PIECE_MAX)
                    if not wishes:
                        self._sweep.appended_all()
                    elif not self._append(wishes, last):
                        self._sweep.gone()
                        return 0.0
                case Wait(last):
                    if self._pieces.append_behind(last, ()) is None:
                        self._sweep.gone()
                    return WAIT_SECONDS

    def _append(self, wishes: Sequence[Wish], last: RawEntry | None) -> bool:
        """False where nothing was appended, because `last` is gone."""
        append = self._pieces.append if last is None else partial(self._pieces.append_behind, last)
        arrivals = append([_entry(wish) for wish in wishes])
        if arrivals is None:
            return False
        newest = (arrivals[-1].encode(), [REQUEST, _entry(wishes[-1])])
        self._sweep.appended(wishes[-1], newest, len(wishes))
        return True

    def _end(self, conn: psycopg.Connection[Any]) -> None:
        came_in = ballot.let_in(conn, self._event_id)
        if ballot.end(conn, self._event_id):
            log.info("event %d: the ballot is over; %d buyers hold seats", self._event_id, came_in)


def _entry(wish: Wish) -> bytes:
    """For no gateway: each asks the ledger for its buyers when the ballot is over."""
    return encode_entry(Entry(wish.buyer, REQUEST_ID, Raw(wish.want.encode()), ""))
