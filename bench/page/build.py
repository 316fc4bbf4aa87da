"""One HTML page out of what was measured: styles, scripts and data inside, nothing fetched from anywhere."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from bench.everything import Everything
from bench.page.markup import Html, join, tag
from bench.page.proofs import proofs_section
from bench.page.reached import (
    cpu_section,
    headlines,
    judged_section,
    latency_section,
    machine_section,
    open_loop_note,
    reach_section,
    repeat_section,
)
from bench.page.rivals import curve_data, rivals_sections
from bench.page.sitting import sitting_section

HERE = Path(__file__).parent
TOKENS = HERE.parents[1] / "gateway" / "pages" / "static" / "css" / "tokens.css"
"""Colours and sizes of onsale's own pages."""


def page(found: Everything) -> str:
    """The whole page. Parts that were not measured are left out."""
    core, rows = found.core, found.rows()
    parts: list[str] = [headlines(found)]
    if rows:
        parts.append(reach_section(rows, found.failures))
    if found.seating is not None:
        parts.append(sitting_section(found.seating))
    if found.curves:
        parts.append(latency_section(found.curves))
    if core is not None and core.curves:
        parts.append(open_loop_note(core))
    parts += rivals_sections(found.strategies or {})
    if core is not None and core.where_time_goes:
        parts.append(cpu_section(core.where_time_goes))
    parts.append(proofs_section(found))
    if judged := found.judged:
        parts.append(judged_section(judged))
    if found.machine:
        parts.append(machine_section(found.machine))
    parts.append(repeat_section())
    body = join(
        tag("header", tag("h1", "onsale, measured"), tag("p", _subtitle(found)), class_="top"),
        tag("main", *parts),
        tag("script", Html(_data(found)), type="application/json", id="data"),
        *(tag("script", Html(_read(name))) for name in ("vendor/uPlot.iife.min.js", "page.js")),
    )
    head = join(
        Html('<meta charset="utf-8">'),
        Html('<meta name="viewport" content="width=device-width, initial-scale=1">'),
        Html('<link rel="icon" href="data:,">'),
        tag("title", "onsale, measured"),
        tag("style", Html(TOKENS.read_text() + _read("vendor/uPlot.min.css") + _read("page.css"))),
    )
    return "<!doctype html>\n" + tag("html", tag("head", head), tag("body", body), lang="en") + "\n"


def _subtitle(found: Everything) -> str:
    machine = found.machine
    said = [found.taken_at.replace("T", " ").replace("+00:00", " UTC")] if found.taken_at else []
    if machine.get("cores"):
        said.append(f"{machine['cores']} cores of {machine.get('cpu', 'an unknown processor')}")
    if found.seconds:
        said.append(f"measured in {found.seconds / 60:.0f} minutes")
    if found.quick:
        said.append("a quick look, one round of each: do not quote it")
    return " · ".join(said)


def _data(found: Everything) -> str:
    """What page.js draws. `<` is escaped, so no text can end the script element."""
    data: dict[str, Any] = {"curves": found.curves, "idle": curve_data(found.strategies or {})}
    return msgspec.json.encode(data).decode().replace("<", "\\u003c")


def _read(name: str) -> str:
    return (HERE / name).read_text()
