"""`./run up`: one onsale on this machine, until Ctrl-C.

Order of start: engines, migration, demo, a host of the fleet, simulated provider, chores, gateway. Order of
stop: the reverse, so that what was accepted is on disk before anything below it goes away.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from types import FrameType

from rich.console import Console
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from onsale.engines import engines
from onsale.engines.ports import is_free
from onsale.processes import Stack, require_free

HOSTS = {"local": 3}  # a worker for all events, one that stands by, and one for an event that becomes hot
PORT_MAX = 65_535
STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class _Stopped(BaseException):
    """A signal asked to stop; not an Exception, so that nothing on the way mistakes it for a failure."""


def run_until_stopped(*, host: str, port: int, data_dir: Path, demo: bool, gateways: int) -> None:
    """Starts everything, says where it is, and returns after a stop signal once everything has ended."""
    from onsale.demo import ensure_demo
    from store import migrate

    console = Console(highlight=False)
    require_free(host, port)
    try:
        with _stop_signals():
            console.print("[dim]starting the engines[/]")
            with engines(
                data_dir,
                database_url=os.environ.get("DATABASE_URL") or None,
                redis_url=os.environ.get("REDIS_URL") or None,
            ) as both:
                migrate.upgrade(both.urls.database_url)
                demo_event = ensure_demo(both.urls.database_url) if demo else None
                stack = Stack(
                    both,
                    gateways=gateways,
                    one_address=gateways > 1,
                    allocators=0,
                    hosts=HOSTS,
                    chores=True,
                    host=host,
                    port=port,
                    payments=os.environ.get("ONSALE_PAYMENT_PROVIDER", "simulated") == "simulated",
                    provider_port=port + 1 if port < PORT_MAX and is_free(port + 1, host) else None,
                    restart_dead=True,
                    env={"ONSALE_DEMO": "1" if demo else "0", "ONSALE_DATA_DIR": str(data_dir.resolve())},
                    say=lambda what: _say(console, what),
                )
                try:
                    console.print("[dim]starting allocator workers, payments, chores and gateway[/]")
                    stack.start()
                    _announce(stack)
                    for name, url in stack.urls.as_env().items():  # outside the panel: a line to copy whole
                        console.print(Text(f"{name}={url}", style="dim"), soft_wrap=True)
                    console.print(_panel(stack, demo_event))
                    threading.Event().wait()
                finally:
                    console.print("[dim]stopping: gateway, chores, payments, allocator workers, engines[/]")
                    stack.stop()
    except _Stopped:
        console.print("Stopped. Everything is kept for the next ./run up.")


@contextmanager
def _stop_signals() -> Iterator[None]:
    """The first stop signal ends the block in order; a second one ends the process at once (and with it,
    by the kernel's hand, every child)."""

    def stop(number: int, frame: FrameType | None) -> None:
        for each in STOP_SIGNALS:
            signal.signal(each, signal.SIG_DFL)
        raise _Stopped

    before = {each: signal.signal(each, stop) for each in STOP_SIGNALS}
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


def _announce(stack: Stack) -> None:
    both = stack.engines
    both.data_dir.announce(
        both.urls,
        base_url=stack.base_url,
        postgres_pid=both.postgres.pid if both.postgres else None,
        valkey_pid=both.valkey.pid if both.valkey else None,
        payment_provider=stack.payment_provider,
    )


def _say(console: Console, what: str) -> None:
    console.print(Text(f"{datetime.now().astimezone():%H:%M:%S}  {what}", style="yellow"), soft_wrap=True)


def _panel(stack: Stack, demo_event: str | None) -> Panel:
    rows = Table.grid(padding=(0, 2))
    rows.add_column(style="dim")
    rows.add_column(overflow="fold")
    base = stack.base_url
    rows.add_row("page", f"[bold]{base}/[/]" + (f"   demo: {base}/e/{demo_event}" if demo_event else ""))
    rows.add_row("console", f"{base}/console   for operators; log in with the operator key")
    rows.add_row("operator key", stack.operator_key)
    rows.add_row("API", f"{base}/openapi.json, told in docs/protocol.md")
    if stack.provider_url:
        rows.add_row("payments", f"simulated, at {stack.provider_url}/control; docs/payments.md says more")
    names = [
        name
        for name, server in (("postgres", stack.engines.postgres), ("valkey", stack.engines.valkey))
        if server
    ]
    pids = "  ".join(f"{name} {stack.pid(name)}" for name in [*stack.processes, *names])
    rows.add_row("processes", pids)
    rows.add_row("data, logs", f"{stack.engines.data_dir.path}, {stack.engines.data_dir.logs}/*.log")
    return Panel(rows, title="[bold]onsale is up[/]", subtitle="[dim]Ctrl-C stops it[/]", expand=False)
