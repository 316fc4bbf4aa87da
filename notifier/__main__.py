"""The relay as a process of its own: `python -m notifier`, until SIGTERM or SIGINT."""

from __future__ import annotations

from notifier.relay import run_until_told
from store import logs
from store.settings import EngineUrls


def main() -> None:
    """Relays for the Postgres of the environment."""
    logs.begin("relay")
    run_until_told(EngineUrls.from_env().database_url)


if __name__ == "__main__":
    main()
