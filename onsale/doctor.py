"""`./run doctor`: what is wrong here and what to do about it. It looks only; it changes nothing."""

from __future__ import annotations

import contextlib
import json
import os
import platform
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import psycopg
import redis
from psycopg.rows import dict_row
from rich.console import Console
from rich.table import Table

from onsale.engines import DataDir
from onsale.engines.binaries import postgres_version, valkey_version
from onsale.engines.data_dir import Runtime
from onsale.engines.errors import EngineError
from onsale.engines.identity import Identity, engine_identity
from onsale.findings import Finding, Level, Report
from onsale.fleet_findings import fleet
from onsale.payment_findings import payments
from onsale.room_findings import rooms
from store.chores import runs
from store.database import BACKEND_ANSWERS, other_backend
from store.errors import OnsaleError
from store.payments import stuck
from store.settings import EngineUrls
from store.stream.redis_stream import connect as connect_redis
from store.stream.wake import LAG_COUNT_MAX, undecided
from store.words import Arrival

FREE_MIB_LOW = 2048
FREE_MIB_MIN = 256
POSTGRES_VERSION_MIN = 160000
CONNECTIONS_SHARE_HIGH = 0.9
LOCK_WAIT_SECONDS_HIGH = 1.0
TRANSACTION_SECONDS_HIGH = 30.0
LEASE_SECONDS_OLD = 10.0
LAG_REQUESTS_HIGH = LAG_COUNT_MAX // 2
"""Well below what is counted at most, where entries that are no requests count too."""
CONNECT_SECONDS_MAX = 3


def examine(data_dir: Path) -> Report:
    """Looks at this machine, the data directory, and the engines that run in it or that URLs name."""
    findings = [*_machine(), *_data_dir(data_dir)]
    runtime = DataDir(data_dir).runtime()
    database_url = os.environ.get("DATABASE_URL") or (runtime.database_url if runtime else None)
    redis_url = os.environ.get("REDIS_URL") or (runtime.redis_url if runtime else None)
    if database_url is None and redis_url is None:
        findings.append(Finding(Level.NOTE, "engines", "nothing runs here", "start it with ./run up"))
    if database_url is not None:
        findings += _asking("Postgres", lambda: list(_postgres(database_url)))
    if redis_url is not None:
        findings += _asking("Redis", lambda: list(_redis(redis_url)))
    if database_url is not None and redis_url is not None:
        urls = EngineUrls(database_url=database_url, redis_url=redis_url)
        findings += _asking("events", lambda: list(_events(urls)))
    if database_url is not None:
        findings += _asking("fleet", lambda: list(_fleet(database_url)))
        findings += _asking("chores", lambda: list(_chores(database_url)))
        findings += _asking("payments", lambda: list(_payments(database_url, runtime)))
        findings += _asking("waiting rooms", lambda: list(_rooms(database_url, runtime)))
    return Report(tuple(findings))


def show(report: Report, *, as_json: bool) -> None:
    """Prints the report, for people or for programs."""
    if as_json:
        findings = [asdict(finding) for finding in report.findings]
        print(json.dumps({"healthy": report.healthy, "findings": findings}, indent=1))
        return
    marks = {
        Level.OK: "[green]✓[/]",
        Level.NOTE: "[dim]·[/]",
        Level.WARN: "[yellow]![/]",
        Level.BAD: "[red]✗[/]",
    }
    table = Table.grid(padding=(0, 2))
    for finding in report.findings:
        remedy = f"\n[dim]→ {finding.remedy}[/]" if finding.remedy else ""
        table.add_row(marks[finding.level], finding.subject, finding.found + remedy)
    Console(highlight=False).print(table)


def _machine() -> Iterator[Finding]:
    where = f"{platform.system()} {platform.machine()}, Python {platform.python_version()}"
    yield Finding(Level.OK, "machine", where)
    try:
        yield Finding(Level.OK, "embedded", f"{postgres_version()}, {valkey_version()}")
    except (EngineError, OSError) as error:
        yield Finding(Level.WARN, "embedded", str(error), "or set DATABASE_URL and REDIS_URL")
    runs_as = {
        Identity.SELF: "engines run as you",
        Identity.NAMESPACE: "you are root; Postgres runs in a user namespace of its own",
        Identity.NOBODY: "you are root and user namespaces are forbidden; Postgres runs as nobody",
    }
    yield Finding(Level.OK, "user", runs_as[engine_identity()])
    if sys.platform.startswith("linux"):
        overcommit = Path("/proc/sys/vm/overcommit_memory").read_text().strip()
        if overcommit == "2":
            yield Finding(
                Level.WARN,
                "memory",
                "vm.overcommit_memory is 2: Valkey may fail to rewrite its log",
                "sysctl vm.overcommit_memory=1",
            )


def _data_dir(path: Path) -> Iterator[Finding]:
    existing = next(folder for folder in (path, *path.resolve().parents) if folder.exists())
    free_mib = shutil.disk_usage(existing).free // 2**20
    level = Level.BAD if free_mib < FREE_MIB_MIN else Level.WARN if free_mib < FREE_MIB_LOW else Level.OK
    remedy = "" if level is Level.OK else "free some space, or move the data with --data-dir"
    yield Finding(level, "disk", f"{free_mib:,} MiB free at {existing}", remedy)
    runtime = DataDir(path).runtime()
    if runtime is not None:
        page = f", page {runtime.base_url}" if runtime.base_url else ""
        yield Finding(Level.OK, "running", f"process {runtime.pid}{page}")


def _asking(subject: str, ask: Callable[[], list[Finding]]) -> list[Finding]:
    try:
        return ask()
    except (psycopg.Error, redis.RedisError, OSError, ValueError, OnsaleError) as error:
        remedy = "is it running, and is its URL right? Its log is in the data directory's logs/"
        return [Finding(Level.BAD, subject, f"does not answer: {str(error).strip()}", remedy)]


def _connect(url: str) -> psycopg.Connection[dict[str, Any]]:
    return psycopg.connect(url, connect_timeout=CONNECT_SECONDS_MAX, autocommit=True, row_factory=dict_row)


def _postgres(url: str) -> Iterator[Finding]:
    with _connect(url) as connection:
        version = connection.info.server_version
        old = version < POSTGRES_VERSION_MIN
        yield Finding(
            Level.BAD if old else Level.OK,
            "Postgres",
            f"version {version // 10000}.{version % 10000}",
            "onsale needs PostgreSQL 16 or newer" if old else "",
        )
        for setting in ("fsync", "synchronous_commit", "full_page_writes"):
            if _value(connection, "SELECT current_setting(%s)", setting) == "off":
                yield Finding(
                    Level.BAD,
                    "Postgres",
                    f"{setting} is off: a crash can lose decisions that buyers were told",
                    f"ALTER SYSTEM SET {setting} = on; SELECT pg_reload_conf();",
                )
        yield from _way(connection)
        yield from _order_of_text(connection)
        yield from _migrations(url)
        yield from _sessions(connection)


def _way(connection: psycopg.Connection[dict[str, Any]]) -> Iterator[Finding]:
    if other_backend(connection, (_value(connection, BACKEND_ANSWERS),)):
        found = "DATABASE_URL leads through a pooler: gateways may, allocators and hosts do not start by it"
        remedy = "give allocators, hosts and chores the address of Postgres itself: docs/failover.md"
        yield Finding(Level.WARN, "Postgres", found, remedy)


def _order_of_text(connection: psycopg.Connection[dict[str, Any]]) -> Iterator[Finding]:
    if not _value(connection, TEXT_BY_CODE):
        found = "text is ordered by a language's rules: a buyer is found by a whole id, not by its beginning"
        remedy = "make the database anew with LOCALE 'C' (or C.UTF-8) and restore into it: docs/runbook.md"
        yield Finding(Level.WARN, "Postgres", found, remedy)


def _migrations(url: str) -> Iterator[Finding]:
    from store import migrate

    current, newest = migrate.current_revision(url), migrate.newest_revision()
    if current != newest:
        found = f"at revision {current or 'none'}, this onsale needs {newest}"
        yield Finding(Level.BAD, "schema", found, "./run up migrates; or run the onsale that made it")
    else:
        yield Finding(Level.OK, "schema", f"revision {current}")


def _sessions(connection: psycopg.Connection[dict[str, Any]]) -> Iterator[Finding]:
    used = int(_value(connection, SESSIONS))
    most = int(_value(connection, "SELECT current_setting('max_connections')"))
    crowded = used > most * CONNECTIONS_SHARE_HIGH
    remedy = "raise max_connections, or run fewer gateways and workers" if crowded else ""
    yield Finding(Level.WARN if crowded else Level.OK, "connections", f"{used} of {most}", remedy)
    for row in connection.execute(LOCK_WAITS, [LOCK_WAIT_SECONDS_HIGH]):
        yield Finding(
            Level.WARN,
            "lock wait",
            f"{row['application_name'] or 'a session'} (pid {row['pid']}) has waited {row['seconds']:.0f} s "
            f"for pid {', '.join(map(str, row['blockers']))}: {row['query']}",
            f"if it does not pass: SELECT pg_terminate_backend({row['blockers'][0]});",
        )
    for row in connection.execute(LONG_TRANSACTIONS, [TRANSACTION_SECONDS_HIGH]):
        yield Finding(
            Level.WARN,
            "transaction",
            f"{row['application_name'] or 'a session'} (pid {row['pid']}): open for {row['seconds']:.0f} s",
            f"if nobody misses it: SELECT pg_terminate_backend({row['pid']});",
        )


def _redis(url: str) -> Iterator[Finding]:
    client = connect_redis(url)
    try:
        info: dict[str, Any] = dict(client.info())
        name = str(info.get("server_name", "redis"))
        version = info.get("valkey_version") or info.get("redis_version")
        yield Finding(Level.OK, "Redis", f"{name} {version}, {int(info['used_memory']) // 2**20} MiB used")
        wanted = {"appendonly": "yes", "appendfsync": "always", "maxmemory-policy": "noeviction"}
        for setting, value in wanted.items():
            found = dict(client.config_get(setting)).get(setting)
            if found != value:
                yield Finding(
                    Level.BAD,
                    "Redis",
                    f"{setting} is {found}: requests that were accepted can be lost and must be asked again",
                    f"CONFIG SET {setting} {value}, and the same in its configuration file",
                )
        if info.get("aof_last_write_status", "ok") != "ok":
            yield Finding(Level.BAD, "Redis", "its log cannot be written", "is its disk full?")
    finally:
        client.close()


def _events(urls: EngineUrls) -> Iterator[Finding]:
    with contextlib.closing(connect_redis(urls.redis_url)) as client:
        client.ping()  # once, so that events do not each wait for a Redis that is away
    with _connect(urls.database_url) as connection:
        if _value(connection, "SELECT to_regclass('public.event_cursor')") is None:
            return
        for row in connection.execute(EVENTS).fetchall():
            yield _event(row, urls.redis_url)


def _event(row: dict[str, Any], redis_url: str) -> Finding:
    subject = f"event {row['slug']}"
    lag = undecided(redis_url, row["slug"], Arrival(row["arrival"])) if row["arrival"] else 0
    waits = "an unknown number" if lag is None else f"{lag:,}"
    state = f"{row['state']}, batch {row['batch_no'] or 0}, {waits} not decided"
    if row["state"] not in ("open", "paused"):
        return Finding(Level.OK, subject, state)
    renewed = row["lease_seconds"]
    if renewed is None or renewed > LEASE_SECONDS_OLD:
        since = (
            "never had an allocator" if renewed is None else f"last sign of an allocator {renewed:.0f} s ago"
        )
        remedy = "does a worker run? ./run up starts some; their log is in logs/host-*.log"
        return Finding(Level.BAD, subject, f"{state}; {since}", remedy)
    if lag is not None and lag > LAG_REQUESTS_HIGH and row["state"] == "open":
        remedy = "look for lock waits above and for a busy disk; it catches up by itself"
        return Finding(Level.WARN, subject, f"{state}, by {row['worker']}", remedy)
    return Finding(Level.OK, subject, f"{state}, by {row['worker']}")


def _chores(url: str) -> Iterator[Finding]:
    with _connect(url) as connection:
        if _value(connection, "SELECT to_regclass('public.chore_run')") is None:
            return
        found, by_hand = runs.read(connection), stuck.read(connection)
    if not found:
        yield Finding(Level.NOTE, "chores", "none has run here yet", "./run up starts them")
    for one in found:
        if one.trouble is not None:
            remedy = "its log is in logs/chores-*.log; once, now: ./run chores run " + one.chore
            yield Finding(Level.BAD, f"chore {one.chore}", one.trouble, remedy)
        elif one.failures:
            yield Finding(Level.WARN, f"chore {one.chore}", f"its last run failed: {one.last_error}")
    if found and not any(one.trouble or one.failures for one in found):
        yield Finding(Level.OK, "chores", f"all {len(found)} run and none fails")
    for refund in by_hand:
        yield Finding(
            Level.BAD,
            f"refund {refund.refund}",
            f"{refund.provider} will not give it (payment {refund.payment}, {refund.event}): {refund.error}",
            f"give it by hand; the intent is {refund.intent}",
        )


def _fleet(url: str) -> Iterator[Finding]:
    with _connect(url) as connection:
        if _value(connection, "SELECT to_regclass('public.fleet_host')") is not None:
            yield from fleet(connection)


def _payments(url: str, runtime: Runtime | None) -> Iterator[Finding]:
    with _connect(url) as connection:
        if _value(connection, "SELECT to_regclass('public.payment')") is None:
            return
        yield from payments(connection, os.environ, None if runtime is None else runtime.payment_provider)


def _rooms(url: str, runtime: Runtime | None) -> Iterator[Finding]:
    with _connect(url) as connection:
        if _value(connection, "SELECT to_regclass('public.room')") is None:
            return
        runs = runtime is not None and runtime.payment_provider is not None
        yield from rooms(connection, os.environ, runs=runs)


def _value(connection: psycopg.Connection[dict[str, Any]], query: str, *parameters: object) -> Any:
    row = connection.execute(query.encode(), parameters).fetchone()
    assert row is not None, f"no row from {query}"
    return next(iter(row.values()))


TEXT_BY_CODE = """
-- Of a language capitals do not come before all small letters, nor signs before letters.
SELECT name < 'a' AND 'a-b' < 'aa' FROM (SELECT 'B'::text COLLATE "default" AS name) AS one
"""
SESSIONS = "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'"

LOCK_WAITS = """
    SELECT pid, application_name, left(query, 80) AS query, pg_blocking_pids(pid) AS blockers,
           extract(epoch FROM clock_timestamp() - state_change)::float AS seconds
    FROM pg_stat_activity
    WHERE wait_event_type = 'Lock' AND cardinality(pg_blocking_pids(pid)) > 0
      AND clock_timestamp() - state_change > make_interval(secs => %s)
    ORDER BY seconds DESC LIMIT 10
"""

LONG_TRANSACTIONS = """
    SELECT pid, application_name, extract(epoch FROM clock_timestamp() - xact_start)::float AS seconds
    FROM pg_stat_activity
    WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()
      AND clock_timestamp() - xact_start > make_interval(secs => %s)
    ORDER BY seconds DESC LIMIT 10
"""

EVENTS = """
    SELECT event.slug, event.state, cursor.batch_no, cursor.arrival, lease.worker,
           extract(epoch FROM clock_timestamp() - lease.renewed_at)::float AS lease_seconds
    FROM event
    LEFT JOIN event_cursor AS cursor ON cursor.event_id = event.id
    LEFT JOIN lease ON lease.event_id = event.id
    ORDER BY event.id DESC LIMIT 100
"""
