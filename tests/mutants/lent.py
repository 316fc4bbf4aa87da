"""A pytest plugin that lends a run the engines of its job, emptied, instead of starting some of its own.

Hundreds of runs would spend most of their time starting engines. `tests/conftest.py` is none the wiser:
it makes its template database as ever, with the migrations of the copy it runs in.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import Any

import psycopg
import redis

import onsale.engines
from store.settings import EngineUrls

NAMES = ("ONSALE_LENT_POSTGRES", "ONSALE_LENT_REDIS")


def environ(urls: EngineUrls) -> dict[str, str]:
    """What a run's environment must have for this plugin."""
    return dict(zip(NAMES, (urls.database_url, urls.redis_url), strict=True))


def pytest_configure() -> None:
    """Loaded by name, so before `tests/conftest.py` takes its engines from where this puts them."""


@contextlib.contextmanager
def _lent(*_: object, **__: object) -> Iterator[Any]:
    urls = EngineUrls(*(os.environ[name] for name in NAMES))
    with psycopg.connect(urls.database_url, autocommit=True) as admin:
        mine = "SELECT datname FROM pg_database WHERE datname <> current_database() AND NOT datistemplate"
        for (name,) in admin.execute(mine).fetchall():
            admin.execute(f'DROP DATABASE "{name}" WITH (FORCE)')
    with redis.Redis.from_url(urls.redis_url) as client:
        client.flushall()
        client.script_flush()
    yield onsale.engines.Engines(urls=urls, postgres=None, valkey=None, data_dir=None)  # type: ignore[arg-type]


if all(name in os.environ for name in NAMES):
    onsale.engines.engines = _lent
