"""Families of numbers for Prometheus, made of what was read: `gauge` and `counter`, by their labels' values.

Names have base units (`_seconds`, `_bytes`), counters end in `_total`, what has no unit is a count. Every
family has its help, and is told also where it has no samples.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import generate_latest
from prometheus_client.registry import Collector

Values = Iterable[tuple[Sequence[str], float | None]]
"""(the labels' values, the number); None is not told."""


def gauge(name: str, says: str, labels: Sequence[str], values: Values) -> Metric:
    """What goes up and down."""
    family = GaugeMetricFamily(name, says, labels=labels)
    for of, value in values:
        if value is not None:
            family.add_metric(of, value)
    return family


def counter(name: str, says: str, labels: Sequence[str], values: Values) -> Metric:
    """What grows, named without its `_total`."""
    family = CounterMetricFamily(name, says, labels=labels)
    for of, value in values:
        if value is not None:
            family.add_metric(of, value)
    return family


def one(name: str, says: str, value: float | None) -> Metric:
    """A gauge without labels."""
    return gauge(name, says, (), [((), value)])


class _Found(Collector):
    def __init__(self, families: Iterable[Metric]) -> None:
        self._families = list(families)

    def describe(self) -> Iterable[Metric]:
        return ()

    def collect(self) -> Iterator[Metric]:
        return iter(self._families)


def text_of(families: Iterable[Metric]) -> bytes:
    """The exposition format; raises where two families have one name."""
    registry = CollectorRegistry()
    registry.register(_Found(families))
    return generate_latest(registry)
