"""The relay as a process of its own: `python -m notifier`, until SIGTERM or SIGINT."""

from __future__ import annotations

import logging

from notifier.relay import run_until_told
from store.settings import EngineUrls


def main() -> None:
    """Relays for the Postgres of the environment."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    run_until_told(EngineUrls.from_env().database_url)


if __name__ == "__main__":
    main()
