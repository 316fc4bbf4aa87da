"""Payments that nobody may finish any more end at the provider too; those nobody told us about are looked up.

Canceled first, by a conditional write; then the provider is asked, with no transaction open; then that is
written down. Killed anywhere, the next run asks again and gets the same answer. Where the provider says that
the money came first, that is settled like any notice: it has bought its seats, asks for them or goes back.
So that money which came in time finds its hold alive, those whose holds end in a moment are looked up first.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final

from gateway.payments.port import OnItsWay, Provider
from onsale.chores.doing import Doing
from store.errors import OnsaleError
from store.payments import ending
from store.payments.ending import Intent
from store.payments.settle import Notice, settle

AT_ONCE: Final = 16
"""So many questions to a provider at the same time."""
PAUSES_SECONDS: Final = {"look": (60.0, 3_600.0), "last": (30.0, 60.0), "ask": (60.0, 300.0)}
"""Between two looks at a payment, or two tries to end what is on its way: the first, and the longest. A hold
that was extended ends again."""


async def payments(doing: Doing) -> int:
    """How many payments were canceled, ended or settled."""
    done = await _each(doing, ending.almost_over, partial(_look, "last"))
    done += await _cancel(doing)
    await ending.forget_unmade(doing.connection)
    done += await _each(doing, ending.to_end, _end)
    return done + await _each(doing, ending.unheard, partial(_look, "look"))


async def _cancel(doing: Doing) -> int:
    done = 0
    while not doing.is_over():
        canceled = await ending.cancel(doing.connection)
        done += canceled
        if canceled < ending.MOST:
            break
    return done


async def _each(
    doing: Doing,
    find: Callable[..., Awaitable[list[Intent]]],
    act: Callable[[Doing, Provider, Intent, asyncio.Lock], Awaitable[bool]],
) -> int:
    """All that `find` gives, by number, some at once; one that fails stops nobody behind it."""
    done = after = 0
    writing = asyncio.Lock()  # one connection: answers are written down in turn

    async def one(intent: Intent) -> bool:
        return await act(doing, doing.provider(intent.provider), intent, writing)

    while not doing.is_over():
        intents = await find(doing.connection, after, AT_ONCE)
        works = [doing.trying(f"payment {intent.payment}", one(intent)) for intent in intents]
        done += sum(await asyncio.gather(*works))
        if len(intents) < AT_ONCE:
            break
        after = intents[-1].payment
    return done


async def _end(doing: Doing, provider: Provider, intent: Intent, writing: asyncio.Lock) -> bool:
    try:
        told = await provider.end(intent.intent)
    except OnItsWay:  # for days, with some ways to pay: whoever stands behind it is asked about meanwhile
        async with writing:
            await _may_try(doing, intent, "ask")
        return False
    async with writing:
        if told is not None:
            await _settle(doing, told)
        await ending.ended(doing.connection, intent.payment)
    return True


async def _look(what: str, doing: Doing, provider: Provider, intent: Intent, writing: asyncio.Lock) -> bool:
    async with writing:
        if not await _may_try(doing, intent, what):
            return False
    told = await provider.look(intent.intent)
    if told is None:
        return False
    async with writing:
        return await _settle(doing, told)


async def _may_try(doing: Doing, intent: Intent, what: str) -> bool:
    first, most = PAUSES_SECONDS[what]
    pauses = {"first_seconds": first, "most_seconds": most}
    return bool(await ending.may_try(doing.connection, [intent.payment], what, **pauses))


async def _settle(doing: Doing, told: Notice) -> bool:
    """Whether the notice changed anything; raises what it is refused with."""
    [settled] = await settle(doing.connection, [told])
    if isinstance(settled, OnsaleError):
        raise settled
    return not settled.repeated
