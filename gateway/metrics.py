"""What operators see of a gateway. Labels are events, and a gateway serves a bounded number of them.

Counters are plain integers on the parts that count, read when Prometheus asks: a request costs no
metric. Only appends are observed, once a group.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from prometheus_client import CollectorRegistry, Gauge, Histogram
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.registry import Collector

from gateway.room.metrics import of_rooms
from store.payments.states import PaymentState

if TYPE_CHECKING:
    from gateway.events import EventRuntime
    from gateway.live.feed import LiveFeed
    from gateway.payments.desk import Desk
    from gateway.runtime import Runtime

CONTENT_TYPE = CONTENT_TYPE_LATEST

_COUNTERS = (
    ("onsale_gateway_appended", "Requests appended to the stream.", "intake.appended"),
    ("onsale_gateway_appended_again", "Accepted requests appended once more.", "intake.appended_again"),
    ("onsale_gateway_delivered", "Decisions handed to those who wait here.", "intake.delivered"),
    ("onsale_gateway_redelivered", "Decisions found in the ledger by asking again.", "reask.redelivered"),
    ("onsale_gateway_refused", "Requests refused at a bound.", "intake.refused"),
    ("onsale_gateway_not_queued", "Requests refused by the fast gate.", "gated"),
    ("onsale_gateway_lookups", "Ledger look-ups, each for many keys.", "recall.queries"),
    ("onsale_gateway_waitlist_looks", "Looks at the waiting list, each for many.", "waiters.queries"),
    ("onsale_gateway_map_repaired", "Seat maps read anew because they were wrong.", "compared.repaired"),
    ("onsale_gateway_seat_frames", "Seat map frames, each sent to all watchers.", "watch.frames"),
)
_GAUGES = (
    ("onsale_gateway_undecided", "Requests accepted or queued here and not decided.", "intake.undecided"),
    ("onsale_gateway_waiting", "Requests not yet appended.", "intake.waiting"),
    ("onsale_gateway_lag_seconds", "Age of the oldest undecided; 0 while paused.", "reask.lag_seconds"),
    ("onsale_gateway_event_sockets", "Sockets of the event.", "clients"),
    ("onsale_gateway_watchers", "Sockets that watch the seat map.", "watch.watchers"),
    ("onsale_gateway_following", "1 while decisions and changes are heard.", "following"),
    ("onsale_gateway_database_away", "1 while Postgres cannot be asked.", "reask.database_away"),
)


def _value(event: EventRuntime, path: str) -> float:
    value: Any = event
    for name in path.split("."):
        value = getattr(value, name)
    return float(len(value)) if isinstance(value, (dict, set)) else float(value)


class _Reader(Collector):
    """Reads the runtime's own counts at each scrape."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    def describe(self) -> Iterable[Metric]:
        return ()

    def collect(self) -> Iterator[Metric]:
        events = self._runtime.events.loaded()
        for family, listed in ((CounterMetricFamily, _COUNTERS), (GaugeMetricFamily, _GAUGES)):
            for name, says, path in listed:
                metric = family(name, says, labels=["event"])
                for event in events:
                    metric.add_metric([event.row.slug], _value(event, path))
                yield metric
        hub = self._runtime.hub
        yield GaugeMetricFamily("onsale_gateway_sockets", "Open sockets.", value=len(hub.clients))
        bound = self._runtime.settings.bounds.sockets_max
        yield GaugeMetricFamily("onsale_gateway_sockets_max", "Sockets there may be.", value=bound)
        yield CounterMetricFamily(
            "onsale_gateway_slow_closed", "Closed for reading slowly.", value=hub.slow_closed
        )
        refused = CounterMetricFamily(
            "onsale_gateway_operators_refused",
            "Calls of operators that had no key or session that counts, by code.",
            labels=["code"],
        )
        for code, count in sorted(self._runtime.callers.refused.items()):
            refused.add_metric([code], count)
        yield refused
        yield from _of_consoles(self._runtime.live)
        yield from of_rooms(events, self._runtime.streams)
        yield from _of_payments(self._runtime.payments)


def _of_consoles(live: LiveFeed) -> Iterator[Metric]:
    yield GaugeMetricFamily("onsale_gateway_consoles", "Consoles that are told here.", value=live.watching)
    yield GaugeMetricFamily(
        "onsale_gateway_consoles_max", "Consoles there may be.", value=live.hub.sockets_max
    )
    yield CounterMetricFamily(
        "onsale_gateway_consoles_slow_closed",
        "Consoles closed for reading slowly.",
        value=live.hub.slow_closed,
    )


def _of_payments(desk: Desk) -> Iterator[Metric]:
    told = CounterMetricFamily(
        "onsale_gateway_notices", "Notices of payment providers, by answer.", labels=["provider", "answer"]
    )
    for (provider, answer), count in sorted(desk.notices.answered.items()):
        told.add_metric([provider, answer], count)
    yield told
    became = CounterMetricFamily(
        "onsale_gateway_payments_became", "What payments became, settled here.", labels=["state"]
    )
    for state in PaymentState:
        became.add_metric([state.value], desk.became[state])
    yield became
    yield CounterMetricFamily("onsale_gateway_payments_begun", "Made at a provider.", value=desk.begun)
    yield GaugeMetricFamily("onsale_gateway_provider_asked", "Calls to begin a payment.", value=desk.asking)
    waiting = desk.settling.queued
    yield GaugeMetricFamily("onsale_gateway_notices_queued", "Notices not yet settled.", value=waiting)
    late = len(desk.following.followed)
    yield GaugeMetricFamily("onsale_gateway_payments_late", "Late payments followed here.", value=late)


class Metrics:
    """A registry of its own, so tests and several gateways in one process do not mix."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._group_size = Histogram(
            "onsale_gateway_group_size",
            "Requests in one append.",
            registry=self._registry,
            buckets=(1, 4, 16, 64, 256, 1000),
        )
        self._append_seconds = Histogram(
            "onsale_gateway_append_seconds",
            "Time of one append until it is on disk.",
            registry=self._registry,
            buckets=(0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.5, 2.0),
        )
        self._settled = Histogram(
            "onsale_gateway_settle_size",
            "Notices settled in one transaction.",
            registry=self._registry,
            buckets=(1, 4, 16, 64, 256, 500),
        )
        self._settle_seconds = Histogram(
            "onsale_gateway_settle_seconds",
            "Time of one settling until it is true.",
            registry=self._registry,
            buckets=(0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.5, 2.0),
        )
        self._console_reading_seconds = Histogram(
            "onsale_gateway_console_reading_seconds",
            "Time of one look at Postgres for all consoles that watch here.",
            registry=self._registry,
            buckets=(0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 5.0),
        )
        self._engine_up = Gauge(
            "onsale_gateway_engine_up",
            "1 where the engine answers this gateway.",
            ["engine"],
            registry=self._registry,
        )

    def read(self, runtime: Runtime) -> None:
        """Also report what this runtime counts."""
        self._registry.register(_Reader(runtime))

    def appended(self, size: int, seconds: float) -> None:
        self._group_size.observe(size)
        self._append_seconds.observe(seconds)

    def settled(self, size: int, seconds: float) -> None:
        self._settled.observe(size)
        self._settle_seconds.observe(seconds)

    def looked(self, seconds: float) -> None:
        self._console_reading_seconds.observe(seconds)

    def text(self, engines: Mapping[str, bool]) -> bytes:
        """The exposition format; `engines` says which of them answers this gateway now."""
        for engine, answers in engines.items():
            self._engine_up.labels(engine).set(answers)
        return generate_latest(self._registry)
