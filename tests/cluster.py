"""A Postgres with every migration applied, made once a run and copied for each throwaway stack of a test.

Making one takes a few seconds of each, copying it a moment; a stack then finds a data directory that was used
before, as `./run up` does on every day but the first. The first day has tests of its own.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from onsale.engines.data_dir import DataDir
from onsale.engines.session import Engines, engines  # a mutant's run is lent others in the package
from store import migrate

HOME = "ONSALE_TESTS_CLUSTER"
"""The run's folder for it, told to the workers by their environment."""


@contextlib.contextmanager
def engines_made(
    data_dir: Path,
    *,
    database_url: str | None = None,
    redis_url: str | None = None,
    valkey_databases: int = 16,
) -> Iterator[Engines]:
    """`onsale.engines.engines`, whose database is there and migrated."""
    if database_url is None and HOME in os.environ:
        _lay_out(data_dir)
    with engines(
        data_dir, database_url=database_url, redis_url=redis_url, valkey_databases=valkey_databases
    ) as both:
        yield both


def _lay_out(data_dir: Path) -> None:
    new = DataDir(data_dir)
    if new.postgres.exists():
        return
    made = _made(Path(os.environ[HOME]))
    new.prepare()
    shutil.copytree(made.postgres, new.postgres)
    shutil.copy(made.postgres.with_name("postgres.password"), new.postgres.with_name("postgres.password"))


def _made(home: Path) -> DataDir:
    """The one to copy; who comes first makes it, the others wait for that."""
    home.mkdir(parents=True, exist_ok=True)
    with open(home / "lock", "w") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
        if not (home / "made").exists():
            with engines(home / "making") as both:
                migrate.upgrade(both.urls.database_url)
            (home / "making").rename(home / "made")
    return DataDir(home / "made")
