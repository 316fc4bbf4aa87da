"""Money that is due goes back: taken for a while, given by the provider once, written down.

The provider is asked under the refund's own key with no transaction open; killed between its answer and the
writing down, the next who takes the refund is given the same answer. One that the provider says it will never
give stays due, is tried again at long pauses, and is shown as needing a hand.
"""

from __future__ import annotations

import asyncio
from typing import Final

from onsale.chores.doing import Doing
from store.errors import Conflicted, OnsaleError
from store.payments import refunds as rows
from store.payments.refunds import Due
from store.payments.stuck import REFUSED

AT_ONCE: Final = 16
GIVE_SECONDS_MAX: Final = 30.0
"""Well below `TAKEN_SECONDS`, for which nobody else asks about a refund that was taken."""


async def refunds(doing: Doing) -> int:
    """How many refunds were given."""
    done = 0
    while not doing.is_over():
        taken = await rows.take(doing.connection, AT_ONCE)
        answers = await asyncio.gather(*[_give(doing, due) for due in taken])
        for due, answer in zip(taken, answers, strict=True):
            done += await doing.trying(f"refund {due.id}", _write_down(doing, due, answer))
        if len(taken) < AT_ONCE:
            break
    return done


async def _give(doing: Doing, due: Due) -> str | Exception:
    """The provider's id of the refund, or why there is none."""
    try:
        async with asyncio.timeout(GIVE_SECONDS_MAX):
            return await doing.provider(due.provider).give_back(due)
    except Exception as error:
        return error


async def _write_down(doing: Doing, due: Due, answer: str | Exception) -> bool:
    if isinstance(answer, str):
        return await rows.given(doing.connection, due, answer)
    refused = isinstance(answer, Conflicted) and answer.code == "refund_refused"
    story = str(answer) if isinstance(answer, OnsaleError) else f"{type(answer).__name__}: {answer}"
    await rows.not_given(doing.connection, due, REFUSED + story if refused else story)
    raise answer
