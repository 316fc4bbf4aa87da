"""How a late payment asks for its seats again: an entry in its event's stream, as a gateway's intake writes
it.

For gateways, which follow what they settled themselves (`gateway.payments.following`), and for the chores,
which look after what nobody follows. Both may ask, however often: the key is the payment's, so it is decided
once. Bounds that are meant for buyers do not count here; how many are asked for at once, the callers bound.
"""

from __future__ import annotations

from msgspec import Raw

from store.payments import late
from store.payments.records import Known
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
