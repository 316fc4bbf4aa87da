"""How many gateways and slots an on-sale needs, and how fast its waiting room may admit. Pure.

From what one gateway and one allocator did at their limit on one machine. Promises:
- nothing is planned above `SHARE_USED` of what was measured: the rest is for what was not rehearsed;
- the pace is the fastest at which neither the event's allocator nor what is asked of gateways is above that
  share, so requests do not pile up behind it; and no faster than all buyers in a minute;
- more buyers never need fewer gateways, and never take less time; a slower machine never needs fewer.
"""

from __future__ import annotations

import math
from typing import Final

from bench.rehearsal.words import GateRun, Measured, Sizing

SHARE_USED: Final = 0.5
OPENING_SECONDS: Final = 60
"""So long everybody has to have joined."""
SOCKETS_MAX: Final = 20_000
"""A gateway's bound unless set."""
GATEWAY_BYTES_MAX: Final = 2 * 2**30
"""Of sockets in one gateway."""
SLOTS: Final = 2
PACE_MAX: Final = 1_000_000
BUYERS_SIZED_MAX: Final = 100_000_000


def sizing(measured: Measured, buyers: int, *, shopping_seconds: int = 900, gateways_max: int = 64) -> Sizing:
    """For so many buyers. With `gateways_max` gateways already in use the pace is bound by them."""
    assert 1 <= buyers <= BUYERS_SIZED_MAX, "somebody comes"
    on, off = _run(measured, gate=True), _run(measured, gate=False)
    ceiling = max(1.0, off.decisions_per_second * SHARE_USED)
    asked = max(1, measured.requests_each)
    gateways, gateways_bound_by = _gateways(measured, buyers, gateways_max)
    answers = gateways * max(1.0, max(on.answers_per_second, off.answers_per_second) * SHARE_USED)
    by = {
        "what one event can decide": ceiling / asked * 60,
        "what gateways can answer": answers / asked * 60,
        "how many buyers there are": float(buyers),
        "the most a waiting room admits": float(PACE_MAX),
    }
    bound_by = min(by, key=lambda name: by[name])
    pace = max(1, math.floor(by[bound_by]))
    minutes = buyers / pace
    house = max(1, measured.house)
    parties = math.ceil(house / max(1, measured.party))
    to_decide = parties * asked / ceiling / 60
    return Sizing(
        buyers=buyers,
        gateways=gateways,
        slots=SLOTS,
        hosts=_hosts(gateways, measured.cores),
        pace=pace,
        inside=min(buyers, math.ceil(pace * shopping_seconds / 60)),
        minutes_to_admit=minutes,
        minutes_to_sell_out=max(to_decide, min(parties, buyers) / pace),
        decisions_per_second_max=math.floor(ceiling),
        pace_bound_by=bound_by,
        gateways_bound_by=gateways_bound_by,
    )


def _run(measured: Measured, *, gate: bool) -> GateRun:
    return next(run for run in measured.runs if run.gate is gate)


def _gateways(measured: Measured, buyers: int, gateways_max: int) -> tuple[int, str]:
    each = max(1, min(SOCKETS_MAX, GATEWAY_BYTES_MAX // max(1, measured.bytes_per_socket)))
    joins = max(1.0, measured.joins_per_second * SHARE_USED) * OPENING_SECONDS
    by = {
        "open connections": math.ceil(buyers / each),
        f"everybody joining within {OPENING_SECONDS} seconds": math.ceil(buyers / joins),
    }
    bound_by = max(by, key=lambda name: by[name])
    return min(gateways_max, max(1, by[bound_by])), bound_by


def _hosts(gateways: int, cores: int) -> int:
    """A core for each gateway and slot, and at least two hosts: the standby is on another one."""
    return max(2, math.ceil((gateways + SLOTS) / max(1, cores)))


def sentences(measured: Measured, sized: Sizing) -> list[str]:
    """What it comes to, in plain words."""
    said = []
    if measured.lawful:
        said.append(f"{measured.buyers:,} buyers stormed a copy of {measured.event}, and every law held.")
    else:
        broken = sum(len(run.findings) for run in measured.runs)
        unanswered = sum(run.unanswered for run in measured.runs)
        said.append(
            f"Do not open it like this: {broken:,} findings, {unanswered:,} requests without an answer."
        )
    for run in measured.runs:
        sold = (
            f"sold out after {_seconds(run.sold_out_seconds)}"
            if run.sold_out_seconds is not None
            else f"{measured.house - run.seats_held:,} of {measured.house:,} were left"
        )
        gate = "on" if run.gate else "off"
        said.append(
            f"Fast gate {gate}: {run.decisions_per_second:,.0f} decisions a second, half of the answers "
            f"within {run.latency_ms_p50:,.0f} ms and nearly all within {run.latency_ms_p99:,.0f} ms; {sold}."
        )
    gateways = "1 gateway" if sized.gateways == 1 else f"{sized.gateways:,} gateways"
    said.append(
        f"{sized.buyers:,} buyers need {gateways} and {sized.slots} allocator slots on {sized.hosts} hosts; "
        f"admit {sized.pace:,} a minute."
    )
    said.append(
        f"At that pace everybody is admitted within {_minutes(sized.minutes_to_admit)}, and it can be sold "
        f"out after {_minutes(sized.minutes_to_sell_out)}. The pace is bound by {sized.pace_bound_by}."
    )
    said.append(
        f"One event decides up to {sized.decisions_per_second_max:,} requests a second on a machine like "
        "this one, with half of what was measured to spare."
    )
    return said


def _seconds(seconds: float) -> str:
    return f"{seconds:,.1f} s"


def _minutes(minutes: float) -> str:
    return "a minute" if minutes <= 1 else f"{math.ceil(minutes):,} minutes"
