"""PromQL as far as our rules and dashboards use it: read strictly, and evaluated over given samples.

Small on purpose: what it does not know raises `NotRead`, so a query that grows beyond it is noticed, and then
it is added here after a look at Prometheus' own documentation. Rates are without extrapolation to a range's
ends: enough to tell more than 0 from 0, not to compare numbers with Prometheus'.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

STEP_SECONDS = 15.0
"""Between two values of a series."""
TOKEN = re.compile(
    r"""\s*(?:(?P<number>\d+(?:\.\d+)?(?:e[+-]?\d+)?(?![a-z\d]))|(?P<duration>(?:\d+[smhdw])+)
    |(?P<name>[a-zA-Z_:][\w:]*)|(?P<string>"(?:[^"\\]|\\.)*")|(?P<sign>=~|!~|!=|==|>=|<=|[-+*/%^()\[\]{},<>=]))""",
    re.VERBOSE,
)
SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}
AGGREGATIONS: dict[str, Callable[[Sequence[float]], float]] = {
    "sum": math.fsum, "min": min, "max": max, "count": len,
}  # fmt: skip
COMPARED: dict[str, Callable[[float, float], bool]] = {
    "==": lambda a, b: a == b, "!=": lambda a, b: a != b, ">": lambda a, b: a > b, "<": lambda a, b: a < b,
    ">=": lambda a, b: a >= b, "<=": lambda a, b: a <= b,
}  # fmt: skip
COUNTED: dict[str, Callable[[float, float], float]] = {
    "+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b,
    "/": lambda a, b: a / b if b else (math.nan if not a else math.copysign(math.inf, a)),
}  # fmt: skip
SETS = ("and", "or", "unless")
OVER_RANGES = ("rate", "increase", "changes")
FUNCTIONS = (*OVER_RANGES, "absent", "histogram_quantile")
LEVELS = (("or",), ("and", "unless"), tuple(COMPARED), ("+", "-"), ("*", "/"))
"""Operators, the loosest first; all are left-associative."""

Labels = frozenset[tuple[str, str]]
Vector = dict[Labels, float]
Series = Mapping[tuple[str, Labels], Sequence[float]]
"""Of each series its values, `STEP_SECONDS` apart, the last one now."""


class NotRead(Exception):
    """What is written is not PromQL, or more of it than is known here."""


@dataclass
class Selector:
    """`name{label="value", …}[range]`"""

    name: str
    matchers: list[tuple[str, str, str]]
    range_seconds: float | None = None


@dataclass
class Call:
    """A function or an aggregation (then with its labels)."""

    name: str
    arguments: list[Any]
    by: list[str] = field(default_factory=list)
    without: bool = False


@dataclass
class Binary:
    """Two sides; `on` None: matched by all their labels, or by those not in `ignoring`."""

    sign: str
    left: Any
    right: Any
    on: list[str] | None = None
    ignoring: list[str] = field(default_factory=list)
    group_left: bool = False


class _Reader:
    def __init__(self, text: str) -> None:
        self._tokens = list(_tokens(text))
        self._at = 0

    def whole(self) -> Any:
        found = self._level(0)
        if self._at != len(self._tokens):
            raise NotRead(f"{self._tokens[self._at][1]!r} does not belong there")
        return found

    def _peek(self) -> str:
        return self._tokens[self._at][1] if self._at < len(self._tokens) else ""

    def _take(self, *expected: str) -> str:
        word = self._peek()
        if not word or (expected and word not in expected):
            raise NotRead(f"{word or 'the end'!r} in place of {' or '.join(expected) or 'more'}")
        self._at += 1
        return word

    def _kind(self) -> str:
        return self._tokens[self._at][0] if self._at < len(self._tokens) else ""

    def _level(self, level: int) -> Any:
        if level == len(LEVELS):
            return self._primary()
        left = self._level(level + 1)
        while self._peek() in LEVELS[level]:
            made = Binary(self._take(), left, None)
            if self._peek() in ("on", "ignoring"):
                if self._take() == "on":
                    made.on = self._labels()
                else:
                    made.ignoring = self._labels()
            if self._peek() == "group_left":
                self._take()
                made.group_left = True
                if self._peek() == "(":
                    self._labels()
            made.right = self._level(level + 1)
            left = made
        return left

    def _primary(self) -> Any:
        if self._kind() == "number":
            return float(self._take())
        if self._peek() == "(":
            self._take()
            inner = self._level(0)
            self._take(")")
            return inner
        if self._kind() != "name" and self._peek() != "{":
            raise NotRead(f"{self._peek() or 'the end'!r} where a value should be")
        name = self._take() if self._kind() == "name" else ""
        if name in AGGREGATIONS:
            return self._aggregation(name)
        if self._peek() == "(":
            if name not in FUNCTIONS:
                raise NotRead(f"the function {name}")
            return Call(name, self._arguments())
        return self._selector(name)

    def _aggregation(self, name: str) -> Call:
        call = Call(name, [])
        self._grouping(call)
        call.arguments = self._arguments()
        self._grouping(call)
        return call

    def _grouping(self, call: Call) -> None:
        if self._peek() in ("by", "without"):
            call.without = self._take() == "without"
            call.by = self._labels()

    def _arguments(self) -> list[Any]:
        self._take("(")
        found = []
        while self._peek() != ")":
            found.append(self._level(0))
            if self._peek() != ")":
                self._take(",")
        self._take(")")
        return found

    def _labels(self) -> list[str]:
        self._take("(")
        found = []
        while self._peek() != ")":
            found.append(self._take())
            if self._peek() != ")":
                self._take(",")
        self._take(")")
        return found

    def _selector(self, name: str) -> Selector:
        matchers = []
        if self._peek() == "{":
            self._take()
            while self._peek() != "}":
                label, sign = self._take(), self._take("=", "!=", "=~", "!~")
                if self._kind() != "string":
                    raise NotRead(f"{self._peek()!r} in place of a label's value")
                matchers.append((label, sign, self._take()[1:-1]))
                if self._peek() != "}":
                    self._take(",")
            self._take("}")
        made = Selector(name, matchers)
        if self._peek() == "[":
            self._take()
            if self._kind() != "duration":
                raise NotRead(f"{self._peek()!r} in place of a range")
            made.range_seconds = duration(self._take())
            self._take("]")
        return made


def _tokens(text: str) -> Iterator[tuple[str, str]]:
    at = 0
    while text[at:].strip():
        found = TOKEN.match(text, at)
        if found is None:
            raise NotRead(f"{text[at : at + 20]!r}")
        assert found.lastgroup is not None
        yield found.lastgroup, found[found.lastgroup]
        at = found.end()


def duration(text: str) -> float:
    """`1h30m` in seconds."""
    return float(sum(int(number) * SECONDS[unit] for number, unit in re.findall(r"(\d+)([smhdw])", text)))


def read(text: str) -> Any:
    """The query as a tree; raises `NotRead`."""
    return _Reader(text).whole()


def selectors(tree: Any) -> Iterator[Selector]:
    """Every selector in a query."""
    if isinstance(tree, Selector):
        yield tree
    for part in _parts(tree):
        yield from selectors(part)


def labels_named(tree: Any) -> Iterator[tuple[str, Any]]:
    """(label, the part it is asked of) for all labels that queries group or match by."""
    if isinstance(tree, Call):
        yield from ((label, tree) for label in tree.by)
    elif isinstance(tree, Binary):
        yield from ((label, tree) for label in [*(tree.on or ()), *tree.ignoring])
    for part in _parts(tree):
        yield from labels_named(part)


def _parts(tree: Any) -> list[Any]:
    if isinstance(tree, Call):
        return tree.arguments
    return [tree.left, tree.right] if isinstance(tree, Binary) else []


def evaluate(tree: Any, series: Series) -> Vector:
    """What the query gives now. A number is a vector of one without labels."""
    if isinstance(tree, float):
        return {frozenset(): tree}
    if isinstance(tree, Selector):
        assert tree.range_seconds is None, "a range is for a function"
        return {labels: values[-1] for labels, values in _selected(tree, series).items()}
    if isinstance(tree, Binary):
        return _binary(tree, evaluate(tree.left, series), evaluate(tree.right, series))
    if tree.name in AGGREGATIONS:
        return _aggregated(tree, evaluate(tree.arguments[0], series))
    return _called(tree, series)


def _selected(selector: Selector, series: Series) -> dict[Labels, Sequence[float]]:
    found = {}
    for (name, labels), values in series.items():
        of = dict(labels)
        if name == selector.name and all(
            _matches(of.get(label, ""), *how) for label, *how in selector.matchers
        ):
            found[labels] = values
    return found


def _matches(value: str, sign: str, wanted: str) -> bool:
    same = re.fullmatch(wanted, value) is not None if "~" in sign else value == wanted
    return same != sign.startswith("!")


def _called(call: Call, series: Series) -> Vector:
    if call.name in OVER_RANGES:
        [selector] = call.arguments
        assert isinstance(selector, Selector)
        assert selector.range_seconds, f"{call.name} is of a range"
        count = int(selector.range_seconds / STEP_SECONDS) + 1
        windows = {of: values[-count:] for of, values in _selected(selector, series).items()}
        return {of: _over(call.name, window) for of, window in windows.items() if len(window) > 1}
    if call.name == "absent":
        return {} if evaluate(call.arguments[0], series) else {frozenset(): 1.0}
    return _quantile(call.arguments[0], evaluate(call.arguments[1], series))


def _over(name: str, window: Sequence[float]) -> float:
    steps = list(itertools.pairwise(window))
    if name == "changes":
        return float(sum(now != before for before, now in steps))
    grown = sum(now - before if now >= before else now for before, now in steps)
    return grown / ((len(window) - 1) * STEP_SECONDS) if name == "rate" else grown


def _quantile(wanted: float, buckets: Vector) -> Vector:
    by_series: dict[Labels, list[tuple[float, float]]] = {}
    for labels, count in buckets.items():
        rest = frozenset(pair for pair in labels if pair[0] != "le")
        by_series.setdefault(rest, []).append((float(dict(labels)["le"]), count))
    found = {}
    for rest, all_of in by_series.items():
        steps = sorted(all_of)
        rank = wanted * steps[-1][1]
        found[rest] = next((bound for bound, count in steps if count >= rank), math.nan) if rank else math.nan
    return found


def _aggregated(call: Call, vector: Vector) -> Vector:
    groups: dict[Labels, list[float]] = {}
    for labels, value in vector.items():
        kept = frozenset(pair for pair in labels if (pair[0] in call.by) != call.without)
        groups.setdefault(kept, []).append(value)
    return {labels: float(AGGREGATIONS[call.name](values)) for labels, values in groups.items()}


def _binary(tree: Binary, left: Vector, right: Vector) -> Vector:
    def key(labels: Labels) -> Labels:
        if tree.on is not None:
            return frozenset(pair for pair in labels if pair[0] in tree.on)
        return frozenset(pair for pair in labels if pair[0] not in tree.ignoring)

    if tree.sign in SETS:
        others = {key(labels) for labels in right}
        if tree.sign == "or":
            mine = {key(labels) for labels in left}
            return left | {of: value for of, value in right.items() if key(of) not in mine}
        return {of: value for of, value in left.items() if (key(of) in others) == (tree.sign == "and")}
    if isinstance(tree.right, float):
        pairs = [(of, value, tree.right) for of, value in left.items()]
    elif isinstance(tree.left, float):
        pairs = [(of, tree.left, value) for of, value in right.items()]
    else:
        matched = {key(of): value for of, value in right.items()}
        assert len(matched) == len(right), "many-to-one needs the one on the right"
        pairs = [(of, value, matched[key(of)]) for of, value in left.items() if key(of) in matched]
    if tree.sign in COMPARED:
        return {of: value for of, value, other in pairs if COMPARED[tree.sign](value, other)}
    return {of: COUNTED[tree.sign](value, other) for of, value, other in pairs}
