"""What the `fleet` and `scale` commands print for people."""

from __future__ import annotations

from datetime import UTC, datetime

from rich.console import Group, RenderableType
from rich.table import Table

from store.fleet.edit import Moved, Wanted
from store.fleet.log import Logged
from store.fleet.read import Fleet, ShownEvent, ShownHost, ShownStandby, ShownWorker
from store.fleet.words import Mode

MEGABYTE = 1_000_000


def fleet(told: Fleet) -> RenderableType:
    """Hosts, their workers, and events on sale."""
    if not told.hosts and not told.events:
        return "No host is here and nothing is on sale. Add this one with: ./run worker --slots 4"
    parts: list[RenderableType] = []
    if told.short:
        parts += [f"! {told.short}", ""]
    parts += [_hosts(told.hosts) if told.hosts else "No host is here. Add one with: ./run worker --slots 4"]
    workers = [(host.name, worker) for host in told.hosts for worker in host.workers]
    if workers:
        parts += ["", _workers(workers)]
    parts += ["", _events(told.events) if told.events else "Nothing is on sale."]
    return Group(*parts)


def logged(rows: list[Logged]) -> RenderableType:
    """`fleet log`."""
    if not rows:
        return "Nothing has happened yet."
    table = _table("number", "when", "what", "event", "host", "worker", "who", "why")
    for row in rows:
        when = f"{row.at.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"
        worker = "" if row.worker is None else str(row.worker)[:8]
        where = (row.event or "", row.host or "", worker)
        table.add_row(str(row.id), when, row.what, *where, row.who, row.why)
    return table


def moved(told: Moved) -> str:
    """`fleet move`."""
    own = " It has a worker of its own there, and is hot." if told.hot else ""
    return f"{told.event} goes to {told.host}: it is handed over once the worker there is warm.{own}"


def scaled(slug: str, now: Wanted) -> str:
    """`scale`."""
    kind = {
        Mode.HOT: "of its own",
        Mode.COLD: "shared with other events",
        Mode.AUTO: "of its own while it is busy, shared while it is not",
    }[now.mode]
    workers = "1 worker" if now.workers == 1 else f"{now.workers} workers"
    return f"{slug} is to have {workers}, {kind} (edition {now.edition})."


def _hosts(hosts: list[ShownHost]) -> Table:
    table = _table("host", "state", "slots", "memory", "load a core", "version", "heard")
    for host in hosts:
        draining = "draining, last resort" if host.last_resort else "draining"
        state = "gone" if not host.alive else draining if host.draining else "there"
        of = _megabytes(host.memory_bytes), _megabytes(host.memory_bytes_max)
        table.add_row(
            host.name,
            state,
            f"{host.used} of {host.slots}",
            " of ".join(of) if all(of) else "",
            _number(host.load, 2),
            host.version,
            _ago(host.seen_at),
        )
    return table


def _workers(workers: list[tuple[str, ShownWorker]]) -> Table:
    table = _table("worker", "host", "process", "memory", "cores", "events", "heard")
    for host, worker in workers:
        state = "starting" if worker.process is None else worker.process
        if worker.stopping:
            state = f"{state}, stopping"
        elif worker.process is not None and not worker.alive:
            state = f"{state}, gone"
        first = ", ".join(worker.events[:3]) + (" …" if len(worker.events) > 3 else "")
        named = f"{len(worker.events)}: {first}" if worker.events else "0"
        heard = "" if worker.seen_at is None else _ago(worker.seen_at)
        memory = _megabytes(worker.memory_bytes)
        table.add_row(str(worker.id)[:8], host, state, memory, _number(worker.cpu, 2), named, heard)
    return table


def _events(events: list[ShownEvent]) -> Table:
    table = _table(
        "event", "state", "kind", "owner", "epoch", "stand by", "lag", "decided/s", "arrived/s", "ms p99"
    )
    for event in events:
        kind = "hot" if event.hot else "cold"
        if event.mode is not Mode.AUTO:
            kind = f"{event.mode} by hand"
        owner, epoch = "nobody", ""
        if event.owner is not None:
            worker = event.owner.worker
            owner = f"{event.owner.host} {str(worker)[:8]}" if worker else f"{event.owner.process}"
            epoch = str(event.owner.epoch)
        load = event.load
        table.add_row(
            event.event,
            event.state,
            f"{kind}, {event.workers}",
            owner,
            epoch,
            ", ".join(_standby(one) for one in event.standbys),
            "" if load is None else f"{load.undecided:,}",
            "" if load is None else _number(load.decided_per_second),
            "" if load is None else _number(load.arrived_per_second),
            "" if load is None else _number(load.latency_ms_p99, 1),
        )
    return table


def _standby(standby: ShownStandby) -> str:
    return standby.host if standby.warm else f"{standby.host} (not warm)"


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold")
    return table


def _megabytes(amount: int | None) -> str:
    return "" if amount is None else f"{amount / MEGABYTE:,.0f} MB"


def _number(value: float | None, digits: int = 0) -> str:
    return "" if value is None else f"{value:,.{digits}f}"


def _ago(at: datetime) -> str:
    seconds = (datetime.now(UTC) - at).total_seconds()
    return f"{max(0.0, seconds):,.0f} s ago"
