"""The batch loop of one owner: read what arrived, decide it, make it true, tell who waits.

Whatever goes wrong between two lines ends in one of three ways: the batch is true (memory keeps
it), it is known not to be (memory is as before and it is decided again), or this owner may no
longer decide (`Fenced` and `Unavailable` leave the loop; whoever goes on loads from Postgres).
The loop knows Postgres and the stream only by their ports.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Sequence

from allocator.announce import answers, given_back, offers, reload_seats, seat_changes, stream_lost
from allocator.busy import Busy
from allocator.decide import Ask, Fact, decide_in_pieces, decode_policy, elsewhere_fact
from allocator.decided import Decided, Row
from allocator.intake import Arrived, Sorted, read_entries, tell_repeats, undecided, was_created
from allocator.keys import Keys
from allocator.memory import Memory, Overlay, expiry_now
from allocator.offering import OffersFirst
from allocator.ports import Cursor, Truth
from allocator.readahead import ReadAhead
from allocator.wishes import Wish, Wishes
from store.errors import Fenced, OutcomeUnknown, ShortWrite, StreamUnavailable, Unavailable
from store.stream.port import BEGINNING, Arrivals, RawEntry
from store.words import BATCH_SIZE_MAX, Arrival, EventState, FactKind, Policy

log = logging.getLogger("onsale.allocator")

TRIES_MAX = 3
PIECE_SIZE = 256
"""Requests decided before their rows are sent: Postgres writes them while the next are decided."""
IDLE_MS = 1000
GATHER_SECONDS = 1.0
"""How long to collect what is asked again after the stream was lost, before deciding anything newer."""
GATHER_MAX = 200_000
BELOW_MAX = 10_000
NOT_BEGUN = (EventState.DRAFT, EventState.LOBBY)


class PausedMeanwhile(Exception):
    """The event is paused, by the batch's facts or those of one before: its requests keep their order."""


class PlanMoved(Exception):
    """Seats are in other categories, by the batch's facts or since its requests were read: these are read
    again by that plan."""


class BatchLoop:
    """Owns one event's memory. Call `attend` once, then `turn` until it raises. Not thread-safe."""

    def __init__(
        self,
        event: str,
        truth: Truth,
        arrivals: Arrivals,
        memory: Memory,
        cursor: Cursor,
        keys: Keys,
        *,
        batch_size_max: int = BATCH_SIZE_MAX,
        now: int | None = None,
        busy: Busy | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """`now` is Postgres' clock in microseconds, where it is known: the last batch may be long ago."""
        self._event = event
        self._truth = truth
        self._arrivals = arrivals
        self._keys = keys
        self._batch_size_max = batch_size_max
        self._monotonic = monotonic
        self.busy = busy or Busy(monotonic=monotonic)
        """What is counted of this owner's work."""
        self.memory = memory
        self.cursor = cursor
        self._wishes = Wishes(self.memory.layout)
        self._ahead = ReadAhead(arrivals, self._read_entries)
        self._attended_at = 0.0
        self._look_below = False
        """Below the cursor may be what nobody has read."""
        self._peeked = self.cursor.arrival
        self._changes: list[tuple[str, bytes]] = []
        """What batches changed on the map, to be published with their answers."""
        self._now = (self.memory.batch_time if now is None else now, monotonic())
        """(Postgres' clock in microseconds, ours) when last heard: to guess when to wake, no more."""
        self._partly = True
        """What is read next may be half decided: halves commit one by one, the cursor moves with the last."""
        self._look_at = 0.0
        """When to look at the schedule of an event that has not begun (by `monotonic`)."""
        self.redone = self.reappended = self.gathered = self.offers_first = 0
        """Rare paths taken, for metrics and tests."""

    def attend(self) -> None:
        """After every (re)connect to the stream, and each second when idle.

        Sees that the stream gives ids above the cursor. Entries at or below the cursor whose key has
        no decision are appended again, keeping their arrival; the rest is trimmed.
        """
        cursor = self.cursor.arrival
        if self._arrivals.ensure_above(cursor):
            log.warning("%s: the stream was missing or behind the cursor %s; mended", self._event, cursor)
        while entries := self._arrivals.below(cursor, count_max=BELOW_MAX):
            through = _newest(entries)
            seen = [through]
            again = undecided(entries, self._truth.known)
            if again:
                self.reappended += len(again)
                seen += self._arrivals.append(again)[-1:]
            self._arrivals.trim_through(through, seen=seen)
        self._look_below = False
        self._attended_at = self._monotonic()

    def announce_reload(self) -> None:
        """A new owner, or a stream that was away: what was published meanwhile may be missed."""
        self._publish([reload_seats(self._event)])

    def close(self) -> None:
        """End the reading thread; what it read is read again by whoever goes on."""
        self._ahead.close()

    def turn(self) -> None:
        """Read once, waiting for an arrival, a poke, the next expiry or a second; decide what there is."""
        # what was read ahead arrived before anything that is found below, and before a marker made now
        if self._look_below and not self._ahead.holds(self.cursor.arrival):
            self.attend()
        if self._wishes.layout is not self.memory.layout:
            self._wishes = self._wishes.by(self.memory.layout)
            self._ahead.prepare_again()
        if self.memory.policy.state is EventState.PAUSED:
            self._wait_paused()
            return
        self._open_when_due()
        entries, arrived = self._ahead.read(
            self.cursor.arrival, count_max=self._batch_size_max, block_ms=self._wait_ms()
        )
        if not entries:
            self.tick()
            if self._monotonic() - self._attended_at >= IDLE_MS / 1000:
                self.attend()
            return
        reads = [entries]
        if self.memory.batch_no and was_created(entries):
            reads = self._gather(entries)
            arrived = self._read_entries([entry for read in reads for entry in read])
        self._decide_read(reads, arrived)

    def _decide_read(self, reads: Sequence[Sequence[RawEntry]], arrived: Arrived) -> None:
        """Decide what came of these reads."""
        try:
            batch = tell_repeats(
                arrived, self._keys, self._truth.known, self._truth.conflicts, partly=self._partly
            )
            self._partly = True
            self._decide(batch, [_newest(read) for read in reads])
            self._partly = len(reads[-1]) >= self._batch_size_max  # until nothing more was there
        except (PausedMeanwhile, PlanMoved):
            self.tick()

    def tick(self) -> None:
        """A batch without requests, if somebody changed something, a hold ran out, offers are owed or the
        sale begins.
        """
        self._open_when_due()
        now, at = self._now
        guess = now + int((self._monotonic() - at) * 1_000_000)
        due = self.memory.due(expiry_now(self.memory, guess)) is not None
        if due or self.memory.offers_owed or self._truth.has_facts():
            self._decide(Sorted(), [self.cursor.arrival])

    def _read_entries(self, entries: Sequence[RawEntry]) -> Arrived:
        return read_entries(entries, self._wishes)

    def _open_when_due(self) -> None:
        """Postgres says how long until the lobby or the sale begins by itself; asked again by then and each
        second."""
        if self.memory.policy.state not in NOT_BEGUN or self._monotonic() < self._look_at:
            return
        left_us = self._truth.open_when_due()
        wait_ms = IDLE_MS if left_us is None else min(IDLE_MS, left_us / 1000)
        self._look_at = self._monotonic() + wait_ms / 1000

    def _wait_ms(self) -> int:
        left_ms = 0 if self.memory.offers_owed else IDLE_MS
        if self.memory.policy.state in NOT_BEGUN:
            left_ms = int((self._look_at - self._monotonic()) * 1000)
        expiry = self.memory.next_expiry()
        if expiry is not None:
            now, at = self._now
            left_ms = min(left_ms, (expiry - now) // 1000 - int((self._monotonic() - at) * 1000))
        return max(1, min(IDLE_MS, left_ms + 1))

    def _wait_paused(self) -> None:
        """Requests stay where they are; pokes and new arrivals wake, facts are consumed."""
        entries = self._arrivals.read(self._peeked, count_max=self._batch_size_max, block_ms=IDLE_MS)
        if entries:
            self._peeked = Arrival(entries[-1][0].decode())
        self.tick()
        if not entries and self._monotonic() - self._attended_at >= IDLE_MS / 1000:
            self.attend()

    def _gather(self, entries: list[RawEntry]) -> list[list[RawEntry]]:
        """The stream was lost: collect what is asked again, so it can go first (law 2).

        A gateway whose connections stayed as they were has not noticed, so all are told. Gives every read,
        `entries` first. Raises `StreamUnavailable` where nobody could be told: nothing is decided before.
        """
        self._arrivals.publish([stream_lost(self._event)])
        self.gathered += 1
        deadline = self._monotonic() + GATHER_SECONDS
        reads, count = [entries], len(entries)
        while (left := deadline - self._monotonic()) > 0 and count < GATHER_MAX:
            after, block_ms = _newest(reads[-1]), max(1, int(left * 1000))
            read = self._arrivals.read(after, count_max=self._batch_size_max, block_ms=block_ms)
            if read:
                reads.append(read)
                count += len(read)
        log.warning("%s: gathered %d entries after the stream was lost", self._event, count)
        return reads

    def _decide(self, batch: Sorted, seen: Sequence[Arrival]) -> None:
        """Decide in parts of at most a batch; the cursor moves with the last, so a crash reads all again.

        `seen`: the newest of each read that the batch is from.
        """
        rows: list[Row] = []
        before, through = self.cursor.arrival, seen[-1]
        asks, size = batch.asks, self._batch_size_max
        for start in range(0, max(1, len(asks)), size):
            last = start + size >= len(asks)
            arrival = through if last else self.cursor.arrival
            rows += self._make_true(asks[start : start + size], arrival)
        self.busy.batch(asks, len(asks) + len(batch.repeats) + len(batch.echoes))
        changes, self._changes = self._changes, []
        messages = [*changes, *answers(self._event, batch, rows)]
        # a tick trims nothing: below an unmoved cursor may be what `attend` has yet to append again
        moved = self.cursor.arrival != before
        self._publish(messages, trim_through=through if moved else None, after=before, seen=seen)

    def _make_true(self, asks: Sequence[Ask], arrival: Arrival) -> list[Row]:
        """The ledger rows of `asks`, true in Postgres."""
        try:
            return self._try(asks, arrival)
        except OffersFirst:
            self.offers_first += 1
            log.info("%s: offers go before %d requests", self._event, len(asks))
        owed = True
        while owed:
            self._make_true((), self.cursor.arrival)
            owed = self.memory.offers_owed
        return self._halves(asks, arrival)

    def _try(self, asks: Sequence[Ask], arrival: Arrival) -> list[Row]:
        for tried in range(TRIES_MAX):
            try:
                return self._attempt(asks, arrival)
            except ShortWrite as short:
                self.redone += 1
                log.warning("%s: batch of %d decided again: %s", self._event, len(asks), short)
                if tried:
                    self._load_again()
                    # it reflects facts that are consumed later and then change nothing: nobody would say so
                    self._changes.append(reload_seats(self._event))
        return self._halves(asks, arrival) if len(asks) > 1 else self._alone(asks, arrival)

    def _load_again(self) -> None:
        """Memory from Postgres; `Fenced` when a COMMIT given up for lost came true late, as the fence says of
        it: its requests were not known as decided when this batch's were told apart."""
        memory, cursor = self._truth.load()
        if cursor.batch_no != self.cursor.batch_no:
            raise Fenced
        self.memory, self.cursor = memory, cursor

    def _halves(self, asks: Sequence[Ask], arrival: Arrival) -> list[Row]:
        middle = len(asks) // 2
        before = self._make_true(asks[:middle], self.cursor.arrival) if middle else []
        return [*before, *self._make_true(asks[middle:], arrival)]

    def _alone(self, asks: Sequence[Ask], arrival: Arrival) -> list[Row]:
        """Facts and expiries without the one request, then it alone: `invalid` when even so it is short."""
        try:
            rows = self._attempt((), self.cursor.arrival if asks else arrival)
            while asks and self.memory.offers_owed:
                self._attempt((), self.cursor.arrival)
        except ShortWrite as short:  # nothing that a request could help
            log.error("%s: ALERT: facts and expiries cannot be written: %s", self._event, short)
            raise Unavailable(f"Facts and expiries of {self._event} cannot be written: {short}.") from short
        if not asks:
            return rows
        try:
            return self._attempt(asks, arrival)
        except ShortWrite:
            [ask] = asks
            said, about = "%s: ALERT: %s of %s cannot be decided and is answered invalid", ask.request_id
            log.error(said, self._event, about, ask.arrival, extra={"event": self._event, "request": about})
            return self._attempt([ask._replace(wish=Wish("undecidable")) for ask in asks], arrival)

    def _attempt(self, asks: Sequence[Ask], arrival: Arrival) -> list[Row]:
        memory, truth = self.memory, self._truth
        if asks and self._wishes.layout is not memory.layout:
            raise PlanMoved
        begun = truth.begin(memory.batch_no, arrival)
        batch_no = memory.batch_no + 1
        overlay = Overlay(memory)
        try:
            if asks and _paused_after(memory, begun.facts):
                raise PausedMeanwhile
            if asks and any(fact.kind == FactKind.RECATEGORISED for fact in begun.facts):
                raise PlanMoved
            facts = self._with_elsewhere(begun.facts, asks)
            pieces = decide_in_pieces(memory, overlay, batch_no, begun.batch_time, facts, asks, PIECE_SIZE)
            decided = truth.write(batch_no, begun, arrival, self._and_read_ahead(pieces))
        except BaseException:
            overlay.discard()
            truth.rollback()
            raise
        self._commit(batch_no, overlay)
        overlay.keep(batch_no, begun.batch_time)
        self.cursor = self.cursor._replace(batch_no=batch_no, arrival=arrival)
        self._now = (begun.batch_time, self._monotonic())
        self._changes.append(seat_changes(self._event, memory, batch_no, begun.batch_time, decided))
        self._changes += offers(self._event, decided)
        self._changes += given_back(self._event, memory, decided)
        return decided.answers()

    def _with_elsewhere(self, facts: Sequence[Fact], asks: Sequence[Ask]) -> Sequence[Fact]:
        """The facts; of a date of a tour that sells, also what its buyers have on the other dates."""
        policy = _policy_after(self.memory.policy, facts)
        if policy.tour is None or policy.state is not EventState.OPEN:
            return facts
        buyers = sorted({ask.buyer for ask in asks if not ask.conflict and not ask.wish.reason})
        counts = self._truth.elsewhere(policy.tour.id, buyers)
        return [*facts, elsewhere_fact(counts)] if counts else facts

    def _and_read_ahead(self, pieces: Iterator[Decided]) -> Iterator[Decided]:
        """All pieces; once they are decided, Postgres is what is waited for: time to read on."""
        yield from pieces
        if not self._look_below:
            self._ahead.start()

    def _commit(self, batch_no: int, overlay: Overlay) -> None:
        """COMMIT; when no reply comes, the truth says what became of it."""
        try:
            self._truth.commit()
        except OutcomeUnknown:
            try:
                became_true = self._truth.committed(batch_no)
            except BaseException:
                overlay.discard()
                raise
            if not became_true:
                overlay.discard()
                raise ShortWrite("the transaction was lost before COMMIT") from None

    def _publish(
        self,
        messages: Sequence[tuple[str, bytes]],
        *,
        trim_through: Arrival | None = None,
        after: Arrival = BEGINNING,
        seen: Sequence[Arrival] = (),
    ) -> None:
        """Lost messages lose nothing: gateways ask the ledger for what they still wait for."""
        try:
            if not self._arrivals.publish(messages, trim_through=trim_through, after=after, seen=seen):
                log.warning("%s: the stream is not as it was read; looking below the cursor", self._event)
                self._look_below = True
        except StreamUnavailable as error:
            log.warning("%s: decisions were not announced: %s", self._event, error)


def _newest(entries: Sequence[RawEntry]) -> Arrival:
    return Arrival(entries[-1][0].decode())


def _policy_after(before: Policy, facts: Sequence[Fact]) -> Policy:
    bodies = [fact.body for fact in facts if fact.kind == FactKind.POLICY]
    return decode_policy(bodies[-1]) if bodies else before


def _paused_after(memory: Memory, facts: Sequence[Fact]) -> bool:
    policies = [decode_policy(fact.body) for fact in facts if fact.kind == FactKind.POLICY]
    return (policies[-1] if policies else memory.policy).state is EventState.PAUSED
