"""Redlock + counter: a distributed lock around "look at the counter, look at the seat, write".

https://redis.io/docs/latest/develop/clients/patterns/distributed-locks/ with the lock that redis-py brings
(`Redis.lock`: SET NX PX with a random value, released by a script), and as used for tickets in
https://aliyasjohn.in/blog/backend-request-part-3-race-conditions-locks.html. The lock is on **one** Redis
node: with five, as Redlock asks for, each acquisition costs more. One lock per event, because the
counter is the event's; waiters poll every 0.1 s, which is redis-py's own setting, and give up after
two seconds. A process that dies with the lock stops the sale until the lock runs out.
"""

from __future__ import annotations

from redis.exceptions import LockError

from bench.strategies.hot_counter import READ_COUNTER, book_with_counter
from bench.strategies.sale import Answer, Booking, Strategy, busy

LOCK_SECONDS = 5.0
WAIT_SECONDS_MAX = 2.0


class Redlock(Strategy):
    name = "redlock"
    over_websocket = False

    async def book(self, booking: Booking) -> Answer:
        lock = self.redis.lock(
            f"lock:event:{booking.event}", timeout=LOCK_SECONDS, blocking_timeout=WAIT_SECONDS_MAX
        )
        if not await lock.acquire():
            return busy()
        try:
            async with self.pool.connection() as connection, connection.transaction():
                answer = await book_with_counter(connection, booking, READ_COUNTER)
        finally:
            try:
                await lock.release()
            except LockError:
                answer = busy()  # it ran out meanwhile: somebody else may have sold the same seat
        return answer
