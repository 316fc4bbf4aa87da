"""How a late payment asks for its seats again: an entry in its event's stream, as a gateway's intake writes
it.

For gateways, which follow what they settled themselves (`gateway.payments.following`), and for the chores,
which look after what nobody follows. Both may ask, however often: the key is the payment's, so it is decided
once. Bounds that are meant for buyers do not count here; how many are asked for at once, the callers bound.
"""

from __future__ import annotations

import asyncio

from msgspec import Raw

from store import lookups
from store import plan as plans
from store.holds import Conn
from store.payments import late
from store.payments.records import Change, Known
from store.plan import Plan
from store.stream import Intake as Stream
from store.wire import Entry, canonical_want, encode_entry
from store.words import Arrival


def entry_of(plan: Plan, payment: Known, gateway: str = "") -> bytes:
    """The entry by which a late payment asks; the answer is published for `gateway`, if one is named."""
    want = canonical_want(late.want_of(payment, plan))
    return encode_entry(Entry(payment.buyer, late.request_of(payment.id), Raw(want), gateway))


async def ask(stream: Stream, plan: Plan, payment: Known, *, gateway: str = "") -> Arrival:
    """Append it; raises what `Stream.append` does. A stream that is missing its allocator makes anew."""
    [arrival] = await stream.append([entry_of(plan, payment, gateway)])
    return arrival


async def pursue(connection: Conn, stream: Stream, payment_id: int) -> Change | None:
    """What became of a late payment, if it is decided; else it is asked for, and None.

    None also for a payment that is not late (any more). Call it again until it is not. No transaction is open
    while the stream is asked. Raises `Unavailable` and what `Stream.append` does.
    """
    found = await late.resolve(connection, payment_id)
    if not isinstance(found, Known):
        return found
    text, _ = await lookups.plan_text(connection, found.event_id)
    await ask(stream, await asyncio.to_thread(plans.decode, text), found)
    return None
