"""Where the two engines are. Everything else that can be set belongs to its room."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

from store.errors import OnsaleError


class MissingSetting(OnsaleError):
    """A setting that this process cannot do without is absent from its environment."""


@dataclass(frozen=True, slots=True)
class EngineUrls:
    """The addresses of Postgres (the truth) and Redis or Valkey (the log of arrivals)."""

    database_url: str
    redis_url: str

    @classmethod
    def from_env(cls, environ: Mapping[str, str] | None = None) -> EngineUrls:
        """Reads DATABASE_URL and REDIS_URL; raises MissingSetting naming what is absent."""
        source = os.environ if environ is None else environ
        missing = [name for name in ("DATABASE_URL", "REDIS_URL") if not source.get(name)]
        if missing:
            raise MissingSetting(
                f"{' and '.join(missing)} not set. Start everything with ./run up, which sets them, or "
                "export DATABASE_URL=postgresql://user:password@host:5432/name and REDIS_URL=redis://host:6379/0."
            )
        return cls(database_url=source["DATABASE_URL"], redis_url=source["REDIS_URL"])

    def as_env(self) -> dict[str, str]:
        """The environment variables that give a child process these engines."""
        return {"DATABASE_URL": self.database_url, "REDIS_URL": self.redis_url}
