"""The report page's first part: what is reached, latencies, CPU, what was judged, the machine."""

from __future__ import annotations

from typing import Any

from bench.everything import Everything
from bench.labels import grouped, label, reach, verdict, with_unit
from bench.page.markup import Html, grouped_table, join, section, table, tag
from bench.report import Curve, Judged, Report, Row, figure

HEADLINES = (
    ("end_to_end", "decisions, end to end over websockets"),
    ("open_loop_p99_at_half", "p99 at half that rate, open loop"),
    ("ten_thousand_on_one_gate_off", "for 10,000 buyers on one seat, all decided"),
    ("takeover_after_sigkill", "without an answer when the owner is killed"),
)
SHOWN = {"reached": ("✓", "reached"), "missed": ("✗", "missed"), "": ("", "")}
MACHINE = {
    "cpu": "processor",
    "cores": "cores",
    "memory_gb": "memory, GB",
    "system": "system",
    "fsync_us": "one durable page (fdatasync), µs",
    "python": "Python",
    "postgres": "Postgres",
    "valkey": "stream",
    "load_1m_before": "load before",
    "load_1m_after": "load after",
}
PERCENTILES = ((0.5, "p50"), (0.95, "p95"), (0.99, "p99"), (0.999, "p99.9"), (1.0, "longest"))


def headlines(found: Everything) -> Html:
    """A few large figures; whatever was not measured is left out."""
    rows = {row.name: row for row in found.rows()}
    tiles = [
        tag(
            "div",
            tag("dt", says),
            tag("dd", with_unit(rows[name], rows[name].value).replace(" decisions", "")),
        )
        for name, says in HEADLINES
        if name in rows
    ]
    return tag("dl", *tiles, class_="headlines") if tiles else Html("")


def reach_section(rows: list[Row], failures: dict[str, str]) -> Html:
    reached = [verdict(row) for row in rows]
    heads = ["measured", "median", "least – most", "reach", "verdict"]
    groups = {title: [_reach_row(row) for row in group] for title, group in grouped(rows).items()}
    counted = f"{reached.count('reached')} of {len(rows) - reached.count('')} are reached."
    return section(
        "reach",
        "What it should reach, and does",
        tag(
            "p",
            "Medians of rounds that took turns; beside them the least and the most a round gave. "
            "Load generator and every server process share the machine's cores. " + counted,
        ),
        grouped_table(heads, groups, "cards reach"),
        *(
            tag("p", f"✗ {group} could not be measured. {why}", class_="failed")
            for group, why in failures.items()
        ),
    )


def _reach_row(row: Row) -> list[str]:
    mark, word = SHOWN[verdict(row)]
    shape = tag("i", mark, aria_hidden="true")
    note = tag("small", row.note) if row.note else ""
    return [
        join(label(row.name), note),
        tag("b", with_unit(row, row.value)),
        row.spread,
        reach(row) if verdict(row) else tag("span", "for the record", class_="quiet"),
        tag("span", shape, word, class_=f"verdict {verdict(row)}") if word else "",
    ]


def latency_section(curves: list[Curve]) -> Html:
    """Plots drawn by page.js out of the page's data, and the same as a table."""
    kinds = {"steady": "Under a steady load", "at once": "Everybody at once"}
    plots = [
        tag("figure", tag("figcaption", title), tag("div", class_="plot", data_curves=kind))
        for kind, title in kinds.items()
        if any(curve.kind == kind for curve in curves)
    ]
    rows = [
        [curve.label, f"{curve.count:,}", *(f"{figure(curve.at(share))} ms" for share, _ in PERCENTILES)]
        for curve in curves
    ]
    return section(
        "latency",
        "How long an answer takes",
        tag(
            "p",
            "Read it as: so many of a hundred requests were answered within so many milliseconds. In an open "
            "loop a request's time counts from when it was due, so nothing that slows the load down hides.",
        ),
        tag("div", *plots, class_="plots"),
        table(["requests", "count", *(name for _, name in PERCENTILES)], rows, "cards figures"),
    )


def open_loop_note(report: Report) -> Html:
    """What an open loop must say of itself to be believed."""
    details = report.details.get("open_loop")
    if not isinstance(details, dict):
        return Html("")
    sent, late = details.get("rate_sent", []), details.get("behind_schedule_share", [])
    if not sent or not late:
        return Html("")
    return tag(
        "p",
        f"The open loop was to send {details.get('rate_wanted', 0):,} requests a second and sent "
        f"{min(sent):,} to {max(sent):,}; at most {max(late):.1%} left more than 5 ms after they were due.",
        class_="quiet",
    )


def cpu_section(where: dict[str, float]) -> Html:
    """Microseconds of CPU per decision by process, as one bar."""
    whole = sum(where.values()) or 1.0
    parts = [
        tag("span", class_=f"part part-{number}", style=f"flex-grow:{cost / whole:.4f}")
        for number, (name, cost) in enumerate(where.items())
    ]
    keys = [
        tag("li", tag("i", class_=f"part part-{number}"), f"{name} ", tag("b", f"{cost:g} µs"))
        for number, (name, cost) in enumerate(where.items())
    ]
    return section(
        "cpu",
        "Where the CPU goes",
        tag("p", f"Microseconds of CPU per decision in the closed loop, {whole:,.1f} in all."),
        tag("div", *parts, class_="stack", aria_hidden="true"),
        tag("ul", *keys, class_="keys"),
    )


def judged_section(judged: list[Judged]) -> Html:
    found = [one for one in judged if one.findings]
    decisions = sum(one.decisions for one in judged)
    says = f"{len(judged)} events with {decisions:,} decisions were looked at when their round was over. " + (
        "Nothing was found." if not found else f"In {len(found)} of them something was found."
    )
    rows = [
        [one.what, f"{one.decisions:,}", one.how, "; ".join(one.findings) or "nothing found"]
        for one in judged
    ]
    return section(
        "judged",
        "Who looked whether it was right",
        tag("p", says),
        tag(
            "details",
            tag("summary", "each event"),
            table(["event", "decisions", "by", "found"], rows, "cards judged"),
        ),
    )


def machine_section(machine: dict[str, Any]) -> Html:
    known = [[says, str(machine[key])] for key, says in MACHINE.items() if key in machine]
    more = [[key, str(value)] for key, value in machine.items() if key not in MACHINE]
    return section("machine", "The machine", table(["", ""], known + more, "facts"))


def repeat_section() -> Html:
    commands = (
        "./run bench all --json out.json",
        "./run bench seating",
        "./run bench payments --json payments.json",
        "./run torture --minutes 10 --seed 1 --json torture.json",
        "./run storm --json storm.json",
        "./run simulate --seeds 5000 --json simulate.json",
        "./run mutants --json mutants.json",
        "./run bench report out.json payments.json torture.json storm.json simulate.json mutants.json",
    )
    return section(
        "repeat",
        "Measure it yourself",
        tag(
            "p",
            "The engines come with it; nothing else is needed. Leave the machine alone meanwhile. Figures of "
            "two machines cannot be compared; shares of the yardsticks (echo, floor, strategies) can.",
        ),
        tag("pre", tag("code", "\n".join(commands))),
    )
