"""One wave: buyers hold and pay while things are killed, everything is healed and comes to rest; what it
leaves for the judge.

The first wave pays as it holds. In the second Redis is killed when all have their holds, and started again
when all have paid.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final

from msgspec import Struct, field

from bench.evidence import Finding
from bench.generator import mint
from bench.payments.storming.calls import Calls
from bench.payments.storming.crowd import Crowd
from bench.payments.storming.evidence import Returned, Told
from bench.payments.storming.faults import raging
from bench.payments.storming.office import Office
from bench.payments.storming.plan import TAKE_PLACE, Fate
from bench.payments.storming.stage import PaidStage
from bench.target import StageEvent

STUCK_SECONDS: Final = 120.0
"""Beyond the time holds run: so long nobody gets any further before a wave is given up."""
CANCEL_SECONDS_MAX: Final = 60.0
LOOK_SECONDS: Final = 0.2
TELL_SECONDS: Final = 1.0
Say = Callable[[str], None]


class Wave(Struct):
    """See the module."""

    number: int
    on_sale: list[StageEvent]
    buyers: int
    ttl_seconds: int
    """Of its holds."""
    held: int = 0
    told: list[Told] = field(default_factory=list)
    returned: list[Returned] = field(default_factory=list)
    canceled: list[int] = field(default_factory=list)
    killed: Counter[str] = field(default_factory=Counter)
    clients: Counter[str] = field(default_factory=Counter)
    waits: dict[str, list[float]] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)
    """Of its phases."""
    seconds_to_hold: float = 0.0
    """Until everybody held seats and knew where to pay, or was refused."""
    away: tuple[float, float] | None = None
    """From when until when Redis was away (Unix seconds)."""

    def trouble(self, story: str) -> None:
        if story:
            self.findings.append(Finding("trouble", f"wave {self.number}: {story}"))


async def blow(
    stage: PaidStage, wave: Wave, who: Sequence[Fate], seed: int, *, redis_away: bool, tell: Say
) -> None:
    """From the first request until all is at rest; what is seen is in `wave`."""
    await asyncio.to_thread(stage.set_rough, seed)
    tokens = mint(stage.stack.token_secret, len(who), f"storm-{seed}")
    async with Calls(stage.stack.base_urls) as calls:
        crowd = Crowd(calls, Office(calls, stage.stack.operator_key, seed), wave.on_sale, who, tokens)
        began = time.monotonic()
        telling = asyncio.create_task(_tell(wave, crowd, tell))
        canceling = asyncio.create_task(_cancel(crowd, wave.on_sale[TAKE_PLACE]))
        with raging(stage, seed) as storm:
            if redis_away:
                paying = await _pay_without_redis(stage, crowd, wave)
            else:
                paying = asyncio.create_task(crowd.hold_and_pay())
                await _timed(wave, "holding and paying", _all_pressed(crowd, paying, wave))
            if not crowd.half_paid.is_set():
                canceling.cancel()
            await asyncio.wait([canceling], timeout=CANCEL_SECONDS_MAX)
            await asyncio.to_thread(storm.stop)
        wave.killed = storm.killed
        wave.trouble(storm.trouble)
        telling.cancel()
        await _timed(wave, "coming to rest", _rest(stage, crowd, wave, tell))
        crowd.rest()
        await paying
        wave.seconds_to_hold = max(crowd.settled_at, default=began) - began
        wave.held = sum(buyer.held is not None for buyer in crowd.buyers)
        wave.findings += await asyncio.to_thread(stage.alarms)
        wave.told, wave.clients, wave.waits = crowd.told, calls.counts, dict(crowd.waits)
        wave.returned, wave.canceled = crowd.office.returned, crowd.office.canceled


async def _pay_without_redis(stage: PaidStage, crowd: Crowd, wave: Wave) -> asyncio.Task[None]:
    """Returns when all have paid and Redis is back; its task goes on until all have been answered."""
    holding = asyncio.create_task(crowd.hold())
    await _timed(wave, "holding", _until(crowd, holding, holding.done, wave))
    await holding
    await asyncio.to_thread(stage.kill, "valkey")
    began_at = time.time()
    paying = asyncio.create_task(crowd.pay())
    await _timed(wave, "paying without Redis", _all_pressed(crowd, paying, wave))
    wave.away = (began_at, time.time())
    await asyncio.to_thread(stage.start, "valkey")
    return paying


async def _rest(stage: PaidStage, crowd: Crowd, wave: Wave, tell: Say) -> None:
    tell(f"wave {wave.number}: everything heals")
    await asyncio.to_thread(stage.heal)
    wave.trouble(await crowd.office.close())
    wave.trouble(
        await asyncio.to_thread(stage.rest, wave.on_sale, lambda left: tell(f"wave {wave.number}: {left}"))
    )


async def _cancel(crowd: Crowd, event: StageEvent) -> None:
    """When half of its buyers have paid."""
    await crowd.half_paid.wait()
    await crowd.office.cancel(event)


async def _all_pressed(crowd: Crowd, paying: asyncio.Task[None], wave: Wave) -> None:
    await _until(crowd, paying, lambda: crowd.all_pressed, wave)


async def _until(crowd: Crowd, work: asyncio.Task[None], done: Callable[[], bool], wave: Wave) -> None:
    """Waits for it, as long as buyers get any further; raises what the work raised."""
    steps, since = -1, 0.0
    while not done():
        if steps != crowd.steps:
            steps, since = crowd.steps, time.monotonic()
        elif time.monotonic() - since > wave.ttl_seconds + STUCK_SECONDS:
            crowd.given_up = True
            wave.trouble(f"nobody got any further: {crowd.progress}")
            return
        if work.done():
            work.result()
        await asyncio.sleep(LOOK_SECONDS)


async def _timed(wave: Wave, phase: str, work: Awaitable[Any]) -> None:
    began = time.monotonic()
    await work
    wave.seconds[phase] = round(time.monotonic() - began, 1)


async def _tell(wave: Wave, crowd: Crowd, tell: Say) -> None:
    while True:
        tell(f"wave {wave.number}: {crowd.progress}")
        await asyncio.sleep(TELL_SECONDS)
