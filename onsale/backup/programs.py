"""pg_dump, pg_restore and psql: the embedded PostgreSQL's, told of the server by their environment alone, for
a command line can be read by everybody on the machine.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterable
from typing import IO, Final

from psycopg.conninfo import conninfo_to_dict

from onsale.backup.archive import CHUNK_BYTES, BackupFailed
from onsale.engines.binaries import postgres_binary

_VARIABLES: Final = {
    "host": "PGHOST", "hostaddr": "PGHOSTADDR", "port": "PGPORT", "user": "PGUSER", "password": "PGPASSWORD",
    "dbname": "PGDATABASE", "sslmode": "PGSSLMODE", "sslrootcert": "PGSSLROOTCERT", "sslcert": "PGSSLCERT",
    "sslkey": "PGSSLKEY", "channel_binding": "PGCHANNELBINDING", "connect_timeout": "PGCONNECT_TIMEOUT",
    "options": "PGOPTIONS", "target_session_attrs": "PGTARGETSESSIONATTRS", "passfile": "PGPASSFILE",
}  # fmt: skip
WORDS_LENGTH_MAX: Final = 2_000


def environment(database_url: str) -> dict[str, str]:
    """For libpq; raises `BackupFailed` for a setting of the address that it has no variable for."""
    told = {name: str(value) for name, value in conninfo_to_dict(database_url).items() if value is not None}
    if unknown := sorted(told.keys() - _VARIABLES.keys()):
        raise BackupFailed(
            f"DATABASE_URL has {', '.join(unknown)}, which pg_dump cannot be told. Leave it out."
        )
    ours = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
    return ours | {_VARIABLES[name]: value for name, value in told.items()} | {"LC_ALL": "C"}


class Program:
    """One of them, running. Its words are kept for when it fails; memory is bounded by the pipe."""

    def __init__(self, name: str, arguments: Iterable[str], database_url: str = "") -> None:
        self.name = name
        self._words = tempfile.TemporaryFile()  # noqa: SIM115  # closed with the program
        env = environment(database_url) if database_url else None
        self.process = subprocess.Popen(
            [postgres_binary(name), *arguments],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._words, env=env,
        )  # fmt: skip

    def __enter__(self) -> Program:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None and not pipe.closed:
                try:
                    pipe.close()
                except BrokenPipeError:
                    continue  # it ended before it read all
        self.process.wait()
        self._words.close()

    @property
    def into(self) -> IO[bytes]:
        assert self.process.stdin is not None, "it was opened with a pipe"
        return self.process.stdin

    @property
    def out(self) -> IO[bytes]:
        assert self.process.stdout is not None, "it was opened with a pipe"
        return self.process.stdout

    def pieces(self) -> Iterable[bytes]:
        """What it writes, a bounded piece at a time."""
        return iter(lambda: self.out.read(CHUNK_BYTES), b"")

    def ended(self, doing: str) -> None:
        """Waits for its end; raises `BackupFailed` with its words unless it was well."""
        if self.process.wait() != 0:
            raise BackupFailed(f"{doing} failed: {self.words()}")

    def words(self) -> str:
        self._words.seek(0)
        return (
            self._words.read(WORDS_LENGTH_MAX).decode(errors="replace").strip() or f"{self.name} said nothing"
        )
