"""A strategy's worker in a process of its own: `python -m bench.strategies.worker NAME`."""

from __future__ import annotations

import sys

from bench.strategies import decr_async, queue_table
from store.settings import EngineUrls

WORKERS = ("decr_async", "queue_table")


def main(name: str) -> None:
    """Work until ended."""
    urls = EngineUrls.from_env()
    if name == "decr_async":
        decr_async.work(urls.database_url, urls.redis_url)
    else:
        queue_table.work(urls.database_url)


if __name__ == "__main__":
    main(sys.argv[1])
