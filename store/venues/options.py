"""What is said about a plan's file beside it, in the short forms that people type: prices, areas, the stage.

`Stalls=49.90`, `49.90` alone for what has no price, `Floor=2000:Standing`, `400,20`. The command line and
the operators' uploads read them here; `said` is what an error calls the option.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from store.venues.checks import PlanError, refuse_unless
from store.venues.pretix import Standing
from store.venues.reading import Terms, amount_minor
from store.venues.rows import SLUG_LENGTH_MAX

_POINT = re.compile(r"(-?\d{1,7}(?:\.\d+)?),(-?\d{1,7}(?:\.\d+)?)")
_AREA = re.compile(r"(.+)=([0-9]{1,12}):(.+)")


def terms_of(prices: Sequence[str], currency: str, stage: str | None, said: str = "--") -> Terms:
    """What a file may not say. PlanError names the option that cannot be read."""
    by_category: dict[str, int] = {}
    default: int | None = None
    for written in prices:
        category, _, amount = written.rpartition("=")
        minor = amount_minor(amount, currency, f"{said}price {written[:60]}")
        if category:
            by_category[category] = minor
        else:
            default = minor
    point = None
    if stage is not None:
        found = _POINT.fullmatch(stage)
        if not found:
            raise PlanError(f"{said}stage", f"must be like 400,20, not {stage[:60]!r}")
        point = (float(found[1]), float(found[2]))
    return Terms(currency, by_category, default, point)


def standing_of(areas: Sequence[str], said: str = "--") -> dict[str, Standing]:
    """Which areas of a pretix plan are standing areas, by the text written on them."""
    standing = {}
    for written in areas:
        found = _AREA.fullmatch(written)
        if not found:
            like = "must be NAME=CAPACITY:CATEGORY, such as Floor=2000:Standing"
            raise PlanError(f"{said}area {written[:60]}", like)
        standing[found[1]] = Standing(int(found[2]), found[3])
    return standing


def slug_of(name: str, said: str = "--slug") -> str:
    """A venue's name in addresses, made from the one people read."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    slug = re.sub(r"[^a-z0-9]+", "-", plain)[:SLUG_LENGTH_MAX].strip("-")
    refuse_unless(bool(slug), "name", f"no slug can be made from {name!r}; give {said}")
    return slug
