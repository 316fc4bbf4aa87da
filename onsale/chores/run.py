"""One run of a chore, written down: when it began, how long it took, how much it did, what failed.

`job` is what RQ calls, in the process it made for that; `run_once` what a person calls. A short chore has a
bounded time. A long one runs until it is told to stop, or until another began it anew because nothing was
heard of this one: it gives a sign of life every few seconds.
"""

from __future__ import annotations

import asyncio
import logging
import signal
import threading
import time
from collections.abc import Mapping
from typing import Any, Final

import psycopg

from gateway.payments.port import Provider
from onsale.chores import outside
from onsale.chores.catalogue import Chore, chore_named
from onsale.chores.doing import Ask, Doing, connected
from onsale.chores.settings import ChoreSettings
from onsale.errors import OnsaleError
from store.chores import runs
from store.database import connect
from store.errors import NotFound, Unavailable
from store.jitter import jitter
from store.processes import process_name

log = logging.getLogger("onsale.chores")

ALIVE_SECONDS: Final = 4.0
STRETCH: Final = (0.8, 1.2)


class ChoreFailed(OnsaleError):
    """Not all that a chore had to do could be done; it is begun again."""


def job(name: str) -> int:
    """A run, as RQ asks for it: how much was done. Raises what failed, so RQ tells it too."""
    chore = _named(name)
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    settings = ChoreSettings.from_env()
    return run_long(chore, settings, stop) if chore.long else run_once(chore, settings, stop)


def run_once(
    chore: Chore,
    settings: ChoreSettings,
    stop: threading.Event,
    *,
    providers: Mapping[str, Provider] | None = None,
    ask: Ask = outside.ask,
) -> int:
    """One run of a short chore; how much it did. Raises `ChoreFailed` or `Unavailable`."""
    assert not chore.long, f"{chore.name} runs until it is stopped"
    position = _began(settings, chore)
    begun = time.monotonic()
    try:
        doing, error = asyncio.run(_do(chore, settings, stop, position, providers, ask))
    except Exception as failure:  # from outside it: RQ's, when the run took too long
        doing, error = None, f"{type(failure).__name__}: {failure}"
    done, more, at = doing if doing is not None else (0, False, None)
    _ended(settings, chore, begun, done=done, error=error, more=more, position=at)
    if error is not None:
        raise ChoreFailed(f"{chore.name}: {error}")
    return done


async def _do(
    chore: Chore,
    settings: ChoreSettings,
    stop: threading.Event,
    position: int,
    providers: Mapping[str, Provider] | None,
    ask: Ask,
) -> tuple[tuple[int, bool, int] | None, str | None]:
    """((how much was done, whether there is more, where the next begins), what failed)."""
    try:
        async with connected(settings, chore.name) as connection:
            doing = Doing(connection, settings, stop, providers=providers, ask=ask, position=position)
            try:
                done: int = await chore.load()(doing)
            finally:
                await doing.close()
            return (done, doing.more, doing.position), doing.told()
    except Exception as error:
        if isinstance(error, (OnsaleError, psycopg.OperationalError)):
            log.warning("%s: %s", chore.name, error)
        else:
            log.exception("ALERT: the chore %s failed", chore.name)
        return None, f"{type(error).__name__}: {error}"


def run_long(chore: Chore, settings: ChoreSettings, stop: threading.Event) -> int:
    """Runs a long chore until `stop`, or until another runs it; what it did it shows by itself."""
    _began(settings, chore)
    begun = time.monotonic()
    signs = threading.Thread(
        target=_give_signs, args=(settings, chore, stop), name="signs of life", daemon=True
    )
    signs.start()
    error = _run_beside(chore, settings.engines.database_url, stop)
    stop.set()
    signs.join()
    _ended(settings, chore, begun, done=0, error=error, more=True, position=None)
    if error is not None:
        raise ChoreFailed(f"{chore.name}: {error}")
    return 0


def _run_beside(chore: Chore, database_url: str, stop: threading.Event) -> str | None:
    """Run it to its end; what failed. In a thread, so that it takes no signals: those set `stop`."""
    errors: list[str | None] = []

    def work() -> None:
        try:
            chore.load()(database_url, stop)
            errors.append(None if stop.is_set() else "it ended by itself")
        except Exception as failure:
            log.exception("ALERT: the chore %s failed", chore.name)
            errors.append(f"{type(failure).__name__}: {failure}")

    thread = threading.Thread(target=work, name=chore.name)
    thread.start()
    thread.join()
    return errors[0] if errors else "it was ended"


def _give_signs(settings: ChoreSettings, chore: Chore, stop: threading.Event) -> None:
    while not stop.wait(ALIVE_SECONDS):
        try:
            with connect(settings.engines.database_url, "onsale chore signs") as conn:
                conn.autocommit = True
                while runs.alive(conn, chore.name, process_name()):
                    if stop.wait(ALIVE_SECONDS):
                        return
            log.warning("%s was begun anew elsewhere; this run ends", chore.name)
            stop.set()
        except (Unavailable, psycopg.OperationalError) as error:
            log.warning("%s cannot say that it is alive: %s", chore.name, error)


def _named(name: str) -> Chore:
    chore = chore_named(name)
    if chore is None:
        raise NotFound("chore_not_found", f"There is no chore {name!r} here. ./run chores lists them.")
    return chore


def _began(settings: ChoreSettings, chore: Chore) -> int:
    with connect(settings.engines.database_url, "onsale chore") as conn:
        runs.enlist(conn, [(chore.name, chore.every_seconds, chore.long)])
        return runs.began(conn, chore.name, process_name())


def was_killed(name: str, settings: ChoreSettings, pid: int, seconds: float) -> None:
    """Writes down, for a run whose process is gone and cannot, that it failed after so long."""
    chore = chore_named(name)
    if chore is not None:
        how = {"done": 0, "error": "its process was killed", "more": False, "position": None}
        _ended(settings, chore, time.monotonic() - seconds, worker=process_name(pid), **how)


def _ended(
    settings: ChoreSettings, chore: Chore, begun: float, *, worker: str | None = None, **how: Any
) -> None:
    """Written down if Postgres answers; what was done is true whether or not it is."""
    by = worker or process_name()
    duration_ms = int((time.monotonic() - begun) * 1_000)
    try:
        with connect(settings.engines.database_url, "onsale chore") as conn:
            runs.ended(conn, chore.name, by, duration_ms=duration_ms, jitter=jitter(*STRETCH), **how)
    except (Unavailable, psycopg.OperationalError) as error:
        log.warning("how %s went cannot be written down: %s", chore.name, error)
