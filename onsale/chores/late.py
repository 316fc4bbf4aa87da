"""Late payments get an answer: seats again, by a request in the event's stream, or the money back.

What is decided becomes true; what is not is asked for, at growing pauses, under the payment's own key:
however often and by whomever it is asked, it is decided once. No transaction is open while the stream is
asked.
"""

from __future__ import annotations

from typing import Final

from onsale.chores.doing import Doing
from store.payments import ending
from store.payments import late as rows
from store.payments.records import Known

ASK_FIRST_SECONDS: Final = 5.0
ASK_MOST_SECONDS: Final = 300.0


async def late(doing: Doing) -> int:
    """How many late payments were given an answer."""
    done = after = 0
    while not doing.is_over():
        found = await rows.find_late(doing.connection, after)
        for payment, slug in found:
            if doing.is_over():
                break
            done += await doing.trying(f"late payment {payment}", _answer(doing, payment, slug))
        if len(found) < rows.LATE_MAX:
            break
        after = found[-1][0]
    return done


async def _answer(doing: Doing, payment_id: int, slug: str) -> bool:
    """Whether it has its answer now."""
    resolved = await rows.resolve(doing.connection, payment_id)
    if not isinstance(resolved, Known):
        return resolved is not None
    pauses = {"first_seconds": ASK_FIRST_SECONDS, "most_seconds": ASK_MOST_SECONDS}
    if await ending.may_try(doing.connection, [payment_id], "ask", **pauses):
        await doing.ask(doing.connection, doing.settings, slug, resolved)
    return False
