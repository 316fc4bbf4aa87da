"""One look for all who watch: every launch, what is about none of them, and of some events all there is.

The frames of the console's live feed are made of it (`gateway.live.feed`); the same is told by HTTP.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from msgspec import Struct, structs, to_builtins

from store.console import around, levers, samples, tally
from store.console.launch import Launch, launch_of
from store.console.levers import Levers
from store.console.needs import Around
from store.console.now import Conn, Reader, Seen
from store.console.tally import Tally
from store.errors import NotFound
from store.fleet.read import what_is_short

_IN_POINTS = frozenset(samples.COLUMNS) - {"workers"} | {"percent_sold", "figures_age_ms"}


class Detail(Struct, frozen=True):
    """One event, whole."""

    launch: Launch
    levers: Levers
    tally: Tally
    point: samples.Row


class Look(Struct, frozen=True):
    """What one look saw."""

    at_ms: int
    launches: list[Launch]
    others: list[Launch]
    """Of the `limited` those that are not among them: there are more than a look names."""
    around: Around
    details: dict[str, Detail]
    """By slug, those that were asked for and are there."""
    histories: dict[str, list[samples.Row]]


def look(
    reader: Reader,
    conn: Conn,
    watched: Collection[str],
    histories: Collection[str],
    limited: Collection[str] = (),
) -> Look:
    """Every launch that is not closed, those of keys that are `limited` to them too, and of the `watched`
    events all, closed or not."""
    now = reader.launches()
    seen = {one.slug: one for one in now}
    beyond = [slug for slug in limited if slug not in seen]
    apart = reader.launches(among=beyond) if beyond else []
    seen |= {one.slug: one for one in apart}
    others = [slug for slug in watched if slug not in seen]
    seen |= {one.slug: one for one in reader.named(others)} if others else {}
    about_all = around.read(conn)
    short = about_all.short
    details = {slug: _detail(conn, seen[slug], short) for slug in watched if slug in seen}
    past = {slug: samples.lately(conn, seen[slug].id) for slug in histories if slug in seen}
    at_ms = now[0].at_ms if now else 0
    launches, more = ([launch_of(one, short) for one in some] for some in (now, apart))
    return Look(at_ms, launches, more, about_all, details, past)


def one(conn: Conn, slug: str) -> Detail:
    """One event, closed or not; raises `NotFound` (unknown_event)."""
    found = Reader(conn).named([slug])
    if not found:
        raise NotFound("unknown_event", f"There is no event {slug!r}. List them to see which there are.")
    return _detail(conn, found[0], what_is_short(conn))


def told(detail: Detail, *, whole: bool = False) -> dict[str, Any]:
    """The `Event` of docs/console-feed.md; `whole`: with the numbers that a feed has in its points."""
    launch = to_builtins(detail.launch)
    if not whole:
        launch = {name: value for name, value in launch.items() if name not in _IN_POINTS}
    steps = detail.tally
    return {
        "type": "event",
        "event": detail.launch.slug,
        "at_ms": detail.point[0],
        **to_builtins(detail.levers),
        "launch": launch,
        "steps": to_builtins(steps.steps),
        "steps_age_ms": steps.steps_age_ms,
        "outcomes": steps.outcomes,
        "turned_away": to_builtins(steps.turned_away),
    }


def steady(launch: Launch) -> Launch:
    """Without what is another in each moment although nothing has changed."""
    owner = None if launch.owner is None else structs.replace(launch.owner, renewed_seconds_ago=0.0)
    return structs.replace(launch, owner=owner, figures_age_ms=0)


def steady_detail(detail: Detail) -> dict[str, Any]:
    """What is told of an event, the same."""
    calm = structs.replace(detail.tally, steps_age_ms=0)
    point = (0, *detail.point[1:])
    return told(structs.replace(detail, launch=steady(detail.launch), tally=calm, point=point))


def _detail(conn: Conn, seen: Seen, short: str | None) -> Detail:
    counted = tally.read(conn, seen.id, seen.orders)
    return Detail(launch_of(seen, short), levers.read(conn, seen.slug), counted, samples.row_of(seen))
