"""The report page's third part: what was broken on purpose, by torture, storm, simulation and mutants."""

from __future__ import annotations

from typing import Any

from bench.everything import MUST_BE_ZERO, Everything
from bench.page.markup import Html, section, table, tag


def proofs_section(found: Everything) -> Html:
    """Empty when none of the four was run."""
    parts = [
        *(_torture(found.torture) if found.torture is not None else []),
        *(_storm(found.storm) if found.storm is not None else []),
        *(_simulation(found.simulation) if found.simulation is not None else []),
        *(_mutants(found.mutants) if found.mutants is not None else []),
    ]
    if not parts:
        return Html("")
    return section("proofs", "Broken on purpose", *parts)


def _torture(torture: dict[str, Any]) -> list[Html]:
    kinds: dict[str, int] = torture.get("faults_by_kind") or {}
    verdicts = [_counted(name, torture.get(name, 0)) for name in MUST_BE_ZERO]
    said = (
        f"{torture.get('faults', 0):,} faults in {torture.get('minutes', 0):g} minutes of load, "
        f"{torture.get('decisions', 0):,} decisions; seed {torture.get('seed', '?')}."
    )
    if gap := torture.get("longest_gap_seconds"):
        said += f" The longest time without a decision was {gap:g} s ({torture.get('longest_gap_fault')})."
    rows = [[kind, f"{count:,}"] for kind, count in kinds.items()]
    return [
        tag("h3", "Torture"),
        tag("p", said),
        tag("ul", *verdicts, class_="counts"),
        _folded(f"the {len(kinds)} kinds of faults", table(["", ""], rows, "facts")) if rows else Html(""),
    ]


def _storm(storm: dict[str, Any]) -> list[Html]:
    killed: dict[str, int] = storm.get("killed") or {}
    said = (
        f"{storm.get('paid', 0):,} payments, {storm.get('orders', 0):,} orders, "
        f"{sum(killed.values()):,} processes killed in {storm.get('seconds', 0):.0f} s; "
        f"seed {storm.get('seed', '?')}."
    )
    verdicts = [_counted(name, count) for name, count in (storm.get("counts") or {}).items()]
    rows = [[what, f"{100 * share:.1f} %"] for what, share in (storm.get("shares") or {}).items()]
    rows += [[f"{what} killed", f"{count:,}"] for what, count in killed.items()]
    return [
        tag("h3", "Storm"),
        tag("p", said),
        tag("ul", *verdicts, class_="counts"),
        _folded("what took place", table(["", ""], rows, "facts")) if rows else Html(""),
    ]


def _counted(name: str, count: int) -> Html:
    shape, kind = ("◆", "faulty") if count else ("○", "clean")
    return tag("li", tag("i", shape, aria_hidden="true"), f"{name} {count or 'none'}", class_=f"cell {kind}")


def _simulation(simulation: dict[str, Any]) -> list[Html]:
    broken = simulation.get("broken") or []
    said = (
        f"{simulation.get('seeds', 0):,} on-sales under a virtual clock, "
        f"{simulation.get('steps', 0):,} steps with trouble in between; "
        + ("every law held in every one." if not broken else f"{len(broken):,} broke a law.")
    )
    rows = [[_words(path), f"{count:,}"] for path, count in (simulation.get("counters") or {}).items()]
    stories = [tag("p", str(one.get("story", "")), class_="failed") for one in broken[:3]]
    taken = _folded("rare paths, and how often they were taken", table(["", ""], rows, "facts"))
    return [tag("h3", "Simulation"), tag("p", said), *stories, taken if rows else Html("")]


def _mutants(mutants: dict[str, Any]) -> list[Html]:
    outcomes: list[dict[str, Any]] = mutants.get("outcomes") or []
    said = (
        f"{mutants.get('guards', 0)} guards taken out one at a time, and the tests run; "
        f"{mutants.get('caught', 0)} were noticed."
    )
    rows = [[one.get("guard", ""), one.get("kind", ""), _caught(one)] for one in outcomes]
    return [
        tag("h3", "Mutants"),
        tag("p", said),
        _folded("each guard", table(["guard", "kind", "noticed by"], rows, "cards judged")),
    ]


def _caught(outcome: dict[str, Any]) -> str:
    if outcome.get("verdict") != "caught":
        return tag("span", f"✗ {outcome.get('verdict')}: {outcome.get('note', '')}", class_="cell faulty")
    tests = [str(one.get("test", "")) for one in outcome.get("caught_by") or []]
    more = f" and {len(tests) - 1} more" if len(tests) > 1 else ""
    return (
        _words(tests[0].rpartition("::")[2].partition("[")[0].removeprefix("test_")) + more if tests else ""
    )


def _folded(title: str, inside: Html) -> Html:
    return tag("details", tag("summary", title), inside)


def _words(name: str) -> str:
    return name.replace("_", " ")
