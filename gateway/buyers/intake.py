"""The way of requests from this gateway into one event's stream: who waits, and group commits.

`submit` never waits: it registers the waiter and queues. One append is in flight at a time; what
is submitted meanwhile goes in the next one, so a gateway's own order holds and groups grow with
load. Each undecided request is kept until its decision is delivered, whether or not somebody still
waits, because this gateway may have to ask again for it (law 3).

Ways an append can fail, and what is true then:
- the stream is missing: nothing was appended. It is created above everything known, and all that
  was accepted is appended first, in its first order, then the rest.
- the server takes no writes (full, a replica, its disk): nothing was appended. Tried again with backoff.
- no reply: nobody knows. The same entries go again once the stream answers; repeats are dropped by
  key. What was never sent is refused after `waiting_seconds_max`, what was sent is not.
- decided before the reply came: then `accepted` is unnecessary and left out.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Awaitable, Callable, Sequence

from redis.exceptions import RedisError

from gateway.buyers.pending import Pending, Waiter
from gateway.problems import Busy, KeyReused, TooMany
from gateway.settings import Bounds
from store.errors import OnsaleError, OutcomeUnknown, StreamMissing, StreamUnavailable
from store.jitter import jitter
from store.stream import Intake as Stream
from store.wire import arrival_order
from store.words import Arrival

log = logging.getLogger("onsale.gateway")

GROUP_MAX = 1_000
"""Most entries in one append: bounds how long the stream's server is busy with one call."""
GROUP_SECONDS_MIN = 0.002
"""From the start of one append to the next. A disk quicker than that would make groups of a few requests,
each with a call, an fsync and often a batch of its own. Who comes when nobody came before does not wait."""
ACCEPTED_AFTER_SECONDS = 0.1
"""How long `accepted` waits for the decision to make it unnecessary."""
BACKOFF_SECONDS = (0.05, 0.5)
"""As in `gateway.follow`: back before the allocator stops gathering."""
WAITERS_MAX = 16
_UNANSWERED = (OutcomeUnknown, RedisError, OSError)


class Intake:
    """One event's queue, undecided requests and append loop."""

    def __init__(
        self,
        stream: Stream,
        gateway_id: str,
        bounds: Bounds,
        cursor: Callable[[], Awaitable[Arrival]],
        observe: Callable[[int, float], None] = lambda size, seconds: None,
    ) -> None:
        self.stream = stream
        self._gateway_id = gateway_id
        self._bounds = bounds
        self._cursor = cursor
        self._observe = observe
        self.undecided: dict[int, Pending] = {}
        """By number, so in the order of submission."""
        self._by_buyer: dict[str, dict[str, Pending]] = {}
        self._queue: deque[Pending] = deque()
        self._again: deque[Pending] = deque()
        self._wake = asyncio.Event()
        self._numbers = 0
        self._largest = Arrival("0-0")
        self._everything = False
        self._refusals = 0
        """How often in a row the server took no append."""
        self.refuse_new: OnsaleError | None = None
        """Set while decisions lag too far behind."""
        self.appended = self.appended_again = self.delivered = self.refused = 0

    # --- submitting and delivering: the hot path, nothing here waits ---

    @property
    def waiting(self) -> int:
        return len(self._queue)

    def undecided_of(self, buyer: str) -> int:
        mine = self._by_buyer.get(buyer)
        return 0 if mine is None else len(mine)

    def find(self, buyer: str, request_id: str) -> Pending | None:
        mine = self._by_buyer.get(buyer)
        return None if mine is None else mine.get(request_id)

    def submit(self, buyer: str, request_id: str, want: bytes, waiter: Waiter) -> Pending:
        """Queue a request, or join the one under way with this key.

        Raises `KeyReused`, `TooMany` (too_many_undecided) or `Busy`; then nothing was queued.
        """
        mine = self._by_buyer.get(buyer)
        if mine is not None:
            pending = mine.get(request_id)
            if pending is not None:
                return self._join(pending, want, waiter)
            if len(mine) >= self._bounds.undecided_per_buyer_max:
                self.refused += 1
                raise TooMany(
                    "too_many_undecided",
                    f"{len(mine)} of your requests are not decided yet. Wait for a decision, then ask again.",
                )
        if self.refuse_new is not None:
            self.refused += 1
            raise self.refuse_new.with_traceback(None)  # raised many times
        self._check_room()
        if mine is None:
            mine = self._by_buyer[buyer] = {}
        self._numbers = number = self._numbers + 1
        pending = Pending(number, buyer, request_id, want, waiter, time.monotonic())
        mine[request_id] = self.undecided[number] = pending
        self._queue.append(pending)
        self._wake.set()
        return pending

    def _join(self, pending: Pending, want: bytes, waiter: Waiter) -> Pending:
        if pending.want != want:
            raise KeyReused
        self.attach(pending, waiter)
        return pending

    def attach(self, pending: Pending, waiter: Waiter) -> None:
        """One more to tell, until `detach`; the oldest of too many is let go."""
        if pending.arrival and waiter.prompt:  # that is all it waits for
            waiter.accepted(pending.request_id, pending.arrival)
            return
        if waiter not in pending.waiters:
            if len(pending.waiters) >= WAITERS_MAX:
                del pending.waiters[0]
            pending.waiters.append(waiter)
            pending.prompt = pending.prompt or waiter.prompt
        if pending.arrival:
            waiter.accepted(pending.request_id, pending.arrival)

    def detach(self, pending: Pending, waiter: Waiter) -> None:
        """Nobody to tell any more. The request is kept all the same."""
        if waiter in pending.waiters:
            pending.waiters.remove(waiter)

    def leave(self, buyer: str, waiter: Waiter) -> None:
        """The waiter of any of this buyer's requests is gone."""
        for pending in self._by_buyer.get(buyer, {}).values():
            self.detach(pending, waiter)

    def _check_room(self) -> None:
        if len(self._queue) >= self._bounds.waiting_max:
            self.refused += 1
            raise Busy("queue_full", "Too many requests wait for the stream. Ask again with the same key.")
        if len(self.undecided) >= self._bounds.undecided_max:
            self.refused += 1
            raise Busy(
                "too_many_waiting", "Too many requests wait for a decision here. Ask again with the same key."
            )

    def deliver(self, decisions: Sequence[tuple[str, str, bytes]]) -> None:
        """Hand (buyer, request id, frame) to whoever waits. A decision nobody waits for is dropped."""
        by_buyer = self._by_buyer
        for buyer, request_id, frame in decisions:
            mine = by_buyer.get(buyer)
            pending = None if mine is None else mine.get(request_id)
            if pending is not None:
                self._forget(pending)
                for waiter in pending.waiters:
                    waiter.decided(frame)
        self.delivered += len(decisions)

    def _forget(self, pending: Pending) -> None:
        pending.decided = True
        self.undecided.pop(pending.number, None)
        mine = self._by_buyer.get(pending.buyer)
        if mine is not None and mine.get(pending.request_id) is pending:
            del mine[pending.request_id]
            if not mine:
                del self._by_buyer[pending.buyer]

    # --- asking again ---

    def append_again(self, pendings: Sequence[Pending]) -> None:
        """Append accepted requests once more, before anything new, in the order they first had."""
        again = [pending for pending in pendings if not pending.decided]
        again.sort(key=lambda pending: (arrival_order(pending.first_arrival), pending.number))
        self._again.extend(again)
        self._wake.set()

    def everything_again(self) -> None:
        """The stream may have lost any of it: append all again, once the append under way has ended."""
        self._everything = True
        self._wake.set()

    def _requeue(self) -> None:
        """Accepted first, in the order of their first arrival, then sent without reply, then the rest."""
        self._everything = False
        known: list[Pending] = []
        unsure: list[Pending] = []
        fresh: list[Pending] = []
        for pending in self.undecided.values():
            (known if pending.arrival else unsure if pending.sent else fresh).append(pending)
        self._again.clear()
        self.append_again(known)
        self._again.extend(unsure)
        self._queue = deque(fresh)
        self._wake.set()

    def refuse_stale(self) -> None:
        """Refuse what was never sent and waited too long. It is in the order of submission."""
        oldest = time.monotonic() - self._bounds.waiting_seconds_max
        while self._queue and self._queue[0].since < oldest:
            pending = self._queue.popleft()
            if pending.decided:
                continue
            self._forget(pending)
            self.refused += 1
            error = Busy("stream_unavailable", "The queue cannot be reached. Ask again with the same key.")
            for waiter in pending.waiters:
                waiter.refused(pending.request_id, error)

    # --- the append loop ---

    async def run(self) -> None:
        """Append until cancelled."""
        while True:
            await self._wake.wait()
            self._wake.clear()
            while group := self._take():
                started = time.monotonic()
                await self._append(group)
                await asyncio.sleep(max(0.0, started + GROUP_SECONDS_MIN - time.monotonic()))

    def _take(self) -> list[Pending]:
        if self._everything:
            self._requeue()
        group: list[Pending] = []
        for waiting in (self._again, self._queue):
            while waiting and len(group) < GROUP_MAX:
                pending = waiting.popleft()
                if not pending.decided:
                    group.append(pending)
        return group

    async def _append(self, group: list[Pending]) -> None:
        gateway, started = self._gateway_id, time.monotonic()
        fresh = [pending for pending in group if not pending.sent]
        for pending in fresh:
            pending.sent = True
        try:
            arrivals = await self.stream.append([pending.entry(gateway) for pending in group])
        except StreamMissing:
            log.warning("the stream is missing: creating it and asking again for %d", len(self.undecided))
            self._not_appended(group, fresh)
            await self._until(self._create)
            self._requeue()
        except StreamUnavailable as error:
            log.warning("an append of %d was refused: %r", len(group), error.__cause__ or error)
            self._not_appended(group, fresh)
            await self._pause_before_next_try()
        except _UNANSWERED as error:
            log.warning("an append of %d got no answer: %r", len(group), error.__cause__ or error)
            self._again.extendleft(reversed(group))
            await self._until(self._answers)
        else:
            self._observe(len(group), time.monotonic() - started)
            self._appended(group, arrivals)

    def _not_appended(self, group: list[Pending], fresh: list[Pending]) -> None:
        """Back to where they were taken from, in the same order."""
        numbers = {pending.number for pending in fresh}
        before = [pending for pending in group if pending.number not in numbers]
        for pending in fresh:
            pending.sent = False
        self._queue.extendleft(reversed(fresh))
        self._again.extendleft(reversed(before))

    async def _pause_before_next_try(self) -> None:
        """Longer each time until an append succeeds; each queued request's own wait stays bounded."""
        self.refuse_stale()
        pause, longest = BACKOFF_SECONDS
        await asyncio.sleep(min(pause * 2**self._refusals, longest) * jitter(0.5, 1.0))
        self._refusals = min(self._refusals + 1, 10)

    def _appended(self, group: list[Pending], arrivals: list[Arrival]) -> None:
        now = time.monotonic()
        self._refusals = again = 0
        for pending, arrival in zip(group, arrivals, strict=True):
            pending.arrival = arrival
            pending.asked_at = now
            if pending.first_arrival:
                again += 1
            else:
                pending.first_arrival = arrival
            if pending.prompt:
                for waiter in pending.waiters:
                    if waiter.prompt:
                        waiter.accepted(pending.request_id, arrival)
        self._largest = arrivals[-1]
        self.appended += len(group) - again
        self.appended_again += again
        asyncio.get_running_loop().call_later(ACCEPTED_AFTER_SECONDS, self._tell_accepted, group)

    def _tell_accepted(self, group: list[Pending]) -> None:
        for pending in group:
            if not pending.decided:
                for waiter in pending.waiters:
                    if not waiter.prompt:
                        waiter.accepted(pending.request_id, pending.arrival)

    async def _create(self) -> None:
        above = max(await self._cursor(), self._largest, key=arrival_order)
        await self.stream.create(above)

    async def _answers(self) -> None:
        await self.stream.last_arrival()

    async def _until(self, attempt: Callable[[], Awaitable[None]]) -> None:
        """Try until it works, with backoff; each queued request's own wait stays bounded meanwhile."""
        pause, longest = BACKOFF_SECONDS
        while True:
            try:
                return await attempt()
            except (OnsaleError, *_UNANSWERED):
                self.refuse_stale()
            await asyncio.sleep(pause * jitter(0.5, 1.0))
            pause = min(2 * pause, longest)
