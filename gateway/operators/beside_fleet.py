"""Events on sale, the fleet and the engines, for Prometheus, beside all else that Postgres tells
(`gateway.operators.beside`).

Labels are events on sale (`store.fleet.numbers.EVENTS_MAX` of them), hosts (`HOSTS_MAX`), states and
quantiles: all few. What an owner or a host says of itself is told with its age; what was never said is not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from prometheus_client.core import Metric

from gateway.operators.families import counter, gauge, one
from store.engine_numbers import DatabaseNumbers, StreamNumbers
from store.fleet.numbers import HOST_STATES, WORKER_STATES, EventNumbers, FleetNumbers, HostNumbers
from store.words import EventState

_EVENTS_GROWING: Final[tuple[tuple[str, str, Callable[[EventNumbers], float | None]], ...]] = (
    ("onsale_event_batches", "Batches decided.", lambda at: at.batch_no),
    ("onsale_event_decided", "Requests its owner decided since it began.", lambda at: at.decided),
)
_EVENTS: Final[tuple[tuple[str, str, Callable[[EventNumbers], float | None]], ...]] = (
    ("onsale_event_owned", "1 while a worker owns it and shows signs of life.", lambda at: at.owned),
    ("onsale_event_owner_epoch", "Goes up with each takeover.", lambda at: at.epoch),
    ("onsale_event_lease_age_seconds", "Since its lease was renewed.", lambda at: at.lease_seconds),
    ("onsale_event_workers", "Workers of the fleet that attend to it.", lambda at: at.workers),
    ("onsale_event_workers_wanted", "Workers it is to have.", lambda at: at.workers_wanted),
    ("onsale_event_hot", "1 while it is to have workers of its own.", lambda at: at.hot),
    ("onsale_event_load_age_seconds", "Since its owner told of its load.", lambda at: at.load_seconds),
    (
        "onsale_event_decided_per_second",
        "Requests decided a second, as its owner told last.",
        lambda at: at.decided_per_second,
    ),
    (
        "onsale_event_arrived_per_second",
        "Requests arriving a second, as its owner told last.",
        lambda at: at.arrived_per_second,
    ),
    (
        "onsale_event_undecided",
        "Requests in its stream not decided, as its owner told last.",
        lambda at: at.undecided,
    ),
    (
        "onsale_event_balance_findings",
        "Rows that did not add up when its owner looked last; 0 is as it must be.",
        lambda at: at.findings,
    ),
    ("onsale_event_balance_age_seconds", "Since its owner looked.", lambda at: at.balance_seconds),
)
_HOSTS: Final[tuple[tuple[str, str, Callable[[HostNumbers], float | None]], ...]] = (
    ("onsale_fleet_host_up", "1 while the host is heard of.", lambda host: host.alive),
    ("onsale_fleet_host_draining", "1 while it is to take no events.", lambda host: host.draining),
    (
        "onsale_fleet_host_last_resort",
        "1 while it takes events although it is draining: no other host is there.",
        lambda host: host.last_resort,
    ),
    ("onsale_fleet_host_seen_age_seconds", "Since it was heard of.", lambda host: host.seen_seconds),
    ("onsale_fleet_host_slots", "Workers it may run.", lambda host: host.slots),
    ("onsale_fleet_host_slots_used", "Workers it runs or is to run.", lambda host: host.used),
    ("onsale_fleet_host_memory_bytes", "Memory in use, of the machine.", lambda host: host.memory_bytes),
    ("onsale_fleet_host_memory_max_bytes", "Memory it has.", lambda host: host.memory_bytes_max),
    ("onsale_fleet_host_load", "Load of the last minute, by core.", lambda host: host.load),
)


def of_fleet(found: FleetNumbers) -> Iterator[Metric]:
    """Events, hosts and workers."""
    yield one("onsale_events_on_sale", "Events in their lobby, open or paused.", found.on_sale)
    yield one("onsale_events_unowned", "Of them, those that nobody decides.", found.unowned)
    states = [((at.event, state), float(at.state == state)) for at in found.events for state in EventState]
    says = "1 for the state an event on sale is in."
    yield gauge("onsale_event_state", says, ["event", "state"], states)
    for kind, listed in ((counter, _EVENTS_GROWING), (gauge, _EVENTS)):
        for name, what, value in listed:
            yield kind(name, what, ["event"], [((at.event,), value(at)) for at in found.events])
    latencies = [
        ((at.event, quantile), None if ms is None else ms / 1_000)
        for at in found.events
        for quantile, ms in (("0.5", at.latency_ms_p50), ("0.99", at.latency_ms_p99))
    ]
    says = "From arrival until a decision is true, as its owner told last."
    yield gauge("onsale_event_latency_seconds", says, ["event", "quantile"], latencies)
    hosts = [((state,), float(found.hosts_by_state.get(state, 0))) for state in HOST_STATES]
    yield gauge("onsale_fleet_hosts", "Hosts; those that drain are alive too.", ["state"], hosts)
    workers = [((state,), float(found.workers.get(state, 0))) for state in WORKER_STATES]
    yield gauge("onsale_fleet_workers", "Worker processes that are wanted.", ["state"], workers)
    for name, what, of_host in _HOSTS:
        yield gauge(name, what, ["host"], [((host.name,), of_host(host)) for host in found.hosts])


def of_engines(database: DatabaseNumbers, bytes_max: int, stream: StreamNumbers | None) -> Iterator[Metric]:
    """Postgres and the stream's server."""
    yield one("onsale_database_bytes", "The database's files, without the log's.", database.bytes)
    says = "What it may hold, as ONSALE_DATABASE_BYTES_MAX says; 0: nobody said."
    yield one("onsale_database_max_bytes", says, bytes_max)
    yield one("onsale_database_connections", "Sessions of clients.", database.connections)
    yield one("onsale_database_connections_max", "Sessions there may be.", database.connections_max)
    says = "Since the oldest transaction began; 0: there is none."
    yield one("onsale_database_oldest_transaction_seconds", says, database.oldest_transaction_seconds)
    ended = [(("commit",), float(database.commits)), (("rollback",), float(database.rollbacks))]
    yield counter("onsale_database_transactions", "Transactions ended.", ["outcome"], ended)
    yield counter("onsale_database_deadlocks", "Deadlocks.", (), [((), database.deadlocks)])
    yield one("onsale_stream_up", "1 while the stream's server answers.", stream is not None)
    if stream is not None:
        yield one("onsale_stream_memory_bytes", "Memory of the stream's server.", stream.memory_bytes)
        says = "Memory it may take; 0: what the machine has."
        yield one("onsale_stream_memory_max_bytes", says, stream.memory_bytes_max)
        yield one("onsale_stream_file_bytes", "Its append-only file.", stream.file_bytes)
        yield one("onsale_stream_connections", "Connections of clients.", stream.connections)
        yield one("onsale_stream_replicas", "Replicas that are connected.", stream.replicas)
        yield one("onsale_stream_writes", "1 while its last write to disk succeeded.", stream.writes)
