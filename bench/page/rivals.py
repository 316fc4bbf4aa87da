"""The report page's second part: every other way to sell a seat, how fast it is and what it does wrong."""

from __future__ import annotations

import math
from typing import Any

from bench.page.markup import Html, join, section, table, tag
from bench.report import figure

OWN = ("onsale", "onsale_gate")
FLOORS = ("floor", "floor_asgi")
CURVE = "curve-"
WRONGS = {
    "oversold": ("oversold", "a seat given to two"),
    "lost": ("forgotten", "told yes, and no row of it"),
    "no_winner": ("no winner", "wanted, and nobody got it"),
    "overtaken": ("overtaken", "refused though clearly earlier than the winner"),
    "split": ("split", "a party not side by side"),
    "drift": ("drifted", "two stores disagree after a kill"),
}
LOADS = {
    "20x1": "20 buyers, one seat",
    "1000x1": "1,000 buyers, one seat",
    "10000x1": "10,000 requests, one seat",
    "10000x5000": "10,000 requests, 5,000 seats",
    "pairs": "parties of two, best seats together",
}
GROUPS = {
    "keeping": "all that commit before they answer",
    "keeping_without_gate": "of those, who have no gate in Redis",
    "keeping_and_faultless": "of those, who did nothing wrong",
    "faultless": "all who did nothing wrong",
    "all": "all of them",
}
WAYS = {"http": "over HTTP", "ws": "over websockets"}


def rivals_sections(strategies: dict[str, Any]) -> list[Html]:
    rows: list[dict[str, Any]] = list(strategies.get("rows") or [])
    if not rows:
        return []
    made = [
        _speed_section(rows),
        _wrong_section(rows),
        _ratios_section(strategies.get("ratios") or {}),
        _losing_section(strategies, rows),
    ]
    return [one for one in made if one]


def _speed_section(rows: list[dict[str, Any]]) -> Html:
    loads = [name for name in dict.fromkeys(row["load"] for row in rows) if not name.startswith(CURVE)]
    shown = [
        tag(
            "details",
            tag("summary", LOADS.get(load, load)),
            *(
                _bars(WAYS[way], [row for row in rows if (row["load"], row["transport"]) == (load, way)])
                for way in WAYS
            ),
            open=load == "10000x1" or len(loads) == 1,
        )
        for load in loads
    ]
    plots = []
    if any(row["load"].startswith(CURVE) for row in rows):
        plots = [
            tag("h3", "From idle to saturated"),
            tag("p", "More and more connections, each asking for seats that nobody else wants, over HTTP."),
            tag(
                "div", _idle_plot("decisions a second", "rate"), _idle_plot("p99, ms", "p99"), class_="plots"
            ),
        ]
    return section(
        "strategies",
        "Every other way to sell a seat",
        tag(
            "p",
            "Each as its authors describe it, on the same plan, under the same load, by the same generator. "
            "Decisions a second on a logarithmic scale: every line is ten times the one before it. "
            "Striped: it did something wrong under this load, and the words say what.",
        ),
        *shown,
        *plots,
    )


def _idle_plot(title: str, what: str) -> Html:
    return tag("figure", tag("figcaption", title), tag("div", class_="plot", data_idle=what))


def _bars(title: str, rows: list[dict[str, Any]]) -> Html:
    rates = [row["decisions_per_second"] for row in rows if row["decisions_per_second"] > 0]
    if not rates:
        return Html("")
    low = 10 ** math.floor(math.log10(min(rates)))
    high = 10 ** math.ceil(math.log10(max(rates) * 1.001))
    decades = round(math.log10(high / low))
    ordered = sorted(rows, key=lambda row: -row["decisions_per_second"])
    scale = [tag("span", figure(low * 10**step)) for step in range(decades + 1)]
    return tag(
        "div",
        tag("h4", title),
        *(_bar(row, low, high) for row in ordered),
        tag("div", *scale, class_="scale", aria_hidden="true"),
        class_="bars",
        style=f"--decades:{decades}",
    )


def _bar(row: dict[str, Any], low: float, high: float) -> Html:
    rate = row["decisions_per_second"]
    share = max(0.0, math.log(rate / low) / math.log(high / low)) if rate > 0 else 0.0
    kind = "own" if row["strategy"] in OWN else "floor" if row["strategy"] in FLOORS else "rival"
    wrong = _wrongs(row)
    latency = f"p50 {_short(row['p50_ms'])} · p99 {_short(row['p99_ms'])} ms"
    return tag(
        "div",
        tag("span", _name(row["strategy"]), class_="who"),
        tag(
            "span",
            tag("span", class_=f"bar {kind}{' wrong' if wrong else ''}", style=f"width:{share:.1%}"),
            class_="track",
        ),
        tag("span", tag("b", figure(rate)), tag("small", latency), class_="rate"),
        tag("span", ", ".join(wrong), class_="wrongs") if wrong else "",
        class_="line",
    )


def _short(milliseconds: float) -> str:
    return f"{milliseconds:,.0f}" if milliseconds >= 100 else f"{milliseconds:.3g}"


def _wrongs(row: dict[str, Any]) -> list[str]:
    found = [f"{words[0]} {row[key]:,}" for key, words in WRONGS.items() if key != "drift" and row.get(key)]
    if row.get("unanswered"):
        found.append(f"unanswered {row['unanswered']:,}")
    return found


def _wrong_section(rows: list[dict[str, Any]]) -> Html:
    names = [name for name in dict.fromkeys(row["strategy"] for row in rows) if name not in FLOORS]
    body: list[list[str]] = []
    for name in names:
        own = [row for row in rows if row["strategy"] == name]
        cells = [_wrong_cell(key, own) for key in WRONGS]
        body.append([join(_name(name), tag("small", _in_short(own), class_="short")), *cells])
    heads = ["strategy", *(word for word, _ in WRONGS.values())]
    meanings = [tag("li", tag("b", word), f": {meaning}") for word, meaning in WRONGS.values()]
    return section(
        "wrong",
        "What goes wrong",
        tag(
            "p",
            "Counted over every load and every round, by what the clients were told and the tables hold.",
        ),
        table(heads, body, "matrix"),
        tag("ul", *meanings, class_="meanings"),
    )


def _in_short(rows: list[dict[str, Any]]) -> str:
    """The row in one line, for a phone."""
    counts = {words[0]: _count(key, rows) for key, words in WRONGS.items()}
    return ", ".join(f"{word} {count:,}" for word, count in counts.items() if count) or "nothing found"


def _count(key: str, rows: list[dict[str, Any]]) -> int | None:
    """Summed over the loads; None where it was not looked for. A strategy's rows share one drift."""
    asked = [row for row in rows if key != "split" or row["load"] == "pairs"]
    known: list[int] = [row[key] for row in asked if row.get(key) is not None]
    if not known:
        return None
    return max(known) if key == "drift" else sum(known)


def _wrong_cell(key: str, rows: list[dict[str, Any]]) -> Html:
    count = _count(key, rows)
    if count is None:
        return tag("span", "not tried", class_="cell untried")
    if not count:
        return tag("span", tag("i", "○", aria_hidden="true"), "none", class_="cell clean")
    return tag("span", tag("i", "◆", aria_hidden="true"), f"{count:,}", class_="cell faulty")


def _ratios_section(ratios: dict[str, Any]) -> Html:
    """How many times as fast as the best of each group, and who that is."""
    heads = ["against the best of", "both over websockets", "websockets against HTTP", "both over HTTP"]
    body = []
    for group, words in GROUPS.items():
        found = (ratios.get("against") or {}).get(group) or {}
        cells = _ratio_cells(found)
        if any(cell != "–" for cell in cells):
            body.append([words, *cells])
    gated = ratios.get("gate_against_gate") or {}
    if gated.get("http_vs_best_http"):
        body.append(["onsale with its gate on, gates in Redis", *_ratio_cells(gated)])
    if not body:
        return Html("")
    load = LOADS.get(str(ratios.get("load")), "the stated load")
    return section(
        "ratios",
        "How many times as fast",
        tag(
            "p",
            f"Decisions a second of onsale, gate off, as a multiple of the best there is: {load}.",
        ),
        table(heads, body, "cards"),
    )


def _ratio_cells(found: dict[str, Any]) -> list[Html | str]:
    best_ws, best_http = found.get("best_ws", ""), found.get("best_http", "")
    pairs = (("ws_vs_best_ws", best_ws), ("ws_vs_best_http", best_http), ("http_vs_best_http", best_http))
    return [
        tag("span", tag("b", f"{found[key]:g} ×"), tag("small", _name(best))) if found.get(key) else "–"
        for key, best in pairs
    ]


def _losing_section(strategies: dict[str, Any], rows: list[dict[str, Any]]) -> Html:
    losses = strategies.get("not_best") or []
    if not any(row["strategy"] in OWN for row in rows):
        return Html("")
    told = (
        tag("ul", *(tag("li", _told(str(one))) for one in losses))
        if losses
        else tag("p", "Under none of these loads was another one that keeps its word faster.")
    )
    return section(
        "losing",
        "Where onsale loses",
        tag(
            "p",
            "A request goes through a stream and a batch: where nobody competes, one UPDATE is quicker.",
        ),
        told,
    )


def _told(loss: str) -> str:
    """A sentence of the strategies' report with loads and strategies by their names for people."""
    for load, words in LOADS.items():
        if loss.startswith(f"{load} "):
            loss = words + loss.removeprefix(load)
    if loss.startswith(CURVE):
        count, _, rest = loss.removeprefix(CURVE).partition(" ")
        loss = f"{count} connections {rest}"
    return loss.replace("_", " ").replace("over http:", "over HTTP:").replace("over ws:", "over websockets:")


def _name(strategy: str) -> str:
    names = {
        "onsale": "onsale, gate off",
        "onsale_gate": "onsale, gate on",
        "floor": "no work at all",
        "floor_asgi": "no work, by ASGI",
    }
    return names.get(strategy, strategy.replace("_", " "))


def curve_data(strategies: dict[str, Any]) -> dict[str, Any]:
    """For the plots from idle to saturated: connections, and per strategy a rate and a p99 each."""
    rows = [
        row
        for row in strategies.get("rows") or []
        if row["load"].startswith(CURVE) and row["transport"] == "http" and row["strategy"] not in FLOORS
    ]
    connections = sorted({int(row["load"].removeprefix(CURVE)) for row in rows})
    series = []
    for name in dict.fromkeys(row["strategy"] for row in rows):
        by_load = {int(row["load"].removeprefix(CURVE)): row for row in rows if row["strategy"] == name}
        series.append(
            {
                "name": _name(name),
                "own": name in OWN,
                "rate": [
                    by_load[at]["decisions_per_second"] if at in by_load else None for at in connections
                ],
                "p99": [by_load[at]["p99_ms"] if at in by_load else None for at in connections],
            }
        )
    return {"connections": connections, "series": series}
