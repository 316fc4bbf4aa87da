"""What a short chore is given: a connection, its settings, how long it has, and whoever it asks outside.

A chore asks `is_over` between two things it does, and leaves the rest to its next run. What failed of many
things it counts (`failed`) and goes on with the others; its run is then told as failed.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Final

import psycopg

from gateway.payments.port import Provider
from onsale.chores import outside
from onsale.chores.settings import ChoreSettings
from onsale.errors import OnsaleError
from store.database import ENDS_IDLE, LOCK_TIMEOUT_MS, NOTICES_GONE
from store.errors import NotFound, Unavailable
from store.holds import Conn
from store.payments.records import Known

log = logging.getLogger("onsale.chores")

Ask = Callable[[Conn, ChoreSettings, str, Known], Awaitable[None]]
"""Asks for the seats of a late payment; see `outside.ask`."""

BUDGET_SECONDS: Final = 5.0
"""So long a run begins new things; the next one goes on, after the more urgent chores that share its worker.
So the last look at a payment whose hold ends comes in time, however many mails there are."""
STATEMENT_MS_MAX: Final = 20_000
CONNECT_SECONDS_MAX: Final = 5
ERRORS_TOLD_MAX: Final = 3
FAILED_ALIKE_MAX: Final = 5
"""So many failures of one run that nobody outside answers; whoever is away is left alone until the next."""


class Doing:
    """One run of a chore."""

    def __init__(
        self,
        connection: Conn,
        settings: ChoreSettings,
        stop: threading.Event,
        *,
        providers: Mapping[str, Provider] | None = None,
        ask: Ask = outside.ask,
        position: int = 0,
        budget_seconds: float = BUDGET_SECONDS,
    ) -> None:
        self.connection = connection
        self.settings = settings
        self.stop = stop
        self.position = position
        """Where the last run ended; what it is set to is where the next one begins."""
        self.more = False
        """There is more to do at once."""
        self.errors: list[str] = []
        self.away = 0
        self._ends_at = time.monotonic() + budget_seconds
        self.ask = ask
        self._providers = providers

    def is_over(self) -> bool:
        """Asked to stop, or out of time, or nobody answers."""
        if self.away >= FAILED_ALIKE_MAX:
            return True
        if self.stop.is_set() or time.monotonic() > self._ends_at:
            self.more = True
            return True
        return False

    async def trying(self, what: str, work: Awaitable[int]) -> int:
        """How much `work` says it did; 0 where it failed, which is counted and stops nobody behind it."""
        try:
            return await work
        except psycopg.OperationalError:
            raise  # Postgres is away: nothing else can be done either
        except Exception as error:
            self.failed(what, error)
            return 0

    def failed(self, what: str, error: Exception) -> None:
        """One of many things failed."""
        if isinstance(error, OnsaleError):
            log.warning("%s: %s", what, error)
        else:
            log.error("ALERT: %s failed", what, exc_info=error)
        self.errors.append(f"{what}: {str(error) or type(error).__name__}")
        self.away += isinstance(error, Unavailable)

    @property
    def providers(self) -> Mapping[str, Provider]:
        """Those that are configured, made when they are first asked for."""
        if self._providers is None:
            self._providers = outside.configured_providers()
        return self._providers

    def provider(self, name: str) -> Provider:
        """The provider of that name; raises `NotFound` (unknown_provider)."""
        found = self.providers.get(name)
        if found is None:
            story = f"The payment provider {name!r} is not configured here: its settings are missing."
            raise NotFound("unknown_provider", story)
        return found

    def told(self) -> str | None:
        """What failed, in short; None when nothing did."""
        if not self.errors:
            return None
        more = len(self.errors) - ERRORS_TOLD_MAX
        return "; ".join(self.errors[:ERRORS_TOLD_MAX]) + (f"; and {more} more" if more > 0 else "")

    async def close(self) -> None:
        """Whoever was asked outside is asked no more."""
        for provider in (self._providers or {}).values():
            await provider.close()


@asynccontextmanager
async def connected(settings: ChoreSettings, name: str) -> AsyncIterator[Conn]:
    """A connection for one run; raises `Unavailable`."""
    options = f"-c lock_timeout={LOCK_TIMEOUT_MS} -c statement_timeout={STATEMENT_MS_MAX} {ENDS_IDLE}"
    try:
        connection = await psycopg.AsyncConnection.connect(
            settings.engines.database_url,
            autocommit=True,
            connect_timeout=CONNECT_SECONDS_MAX,
            prepare_threshold=None,
            application_name=f"onsale chore {name}",
            options=options,
            **NOTICES_GONE,
        )
    except psycopg.OperationalError as error:
        raise Unavailable(f"Postgres does not answer: {error}") from error
    async with connection:
        yield connection
