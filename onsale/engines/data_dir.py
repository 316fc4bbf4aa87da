"""The directory where one onsale keeps everything: its layout, who works in it, and what runs there now.

`lock` is held (flock) by the process that runs the engines; the kernel lets go of it however that process
ends. `runtime.json` says where the engines are while they run. `guests` is locked, shared, by commands that
use another process's engines, so that a short-lived owner waits for them before it stops the engines.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import secrets
import shutil
import threading
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import psutil

import store
from onsale.engines.errors import DataDirInUse, DataDirNotOurs
from store.settings import EngineUrls

REPOSITORY = store.REPOSITORY
MARKER = "onsale-data"
GUESTS_SECONDS_MAX = 600.0


def default_data_dir(environ: Mapping[str, str] | None = None) -> Path:
    """ONSALE_DATA_DIR, else `.data` in the repository."""
    chosen = (os.environ if environ is None else environ).get("ONSALE_DATA_DIR")
    return Path(chosen).resolve() if chosen else REPOSITORY / ".data"


@dataclass(frozen=True, slots=True)
class Runtime:
    """What runs in a data directory, as its owner wrote it down."""

    pid: int
    started_at: float
    database_url: str
    redis_url: str
    base_url: str | None = None
    postgres_pid: int | None = None
    valkey_pid: int | None = None
    payment_provider: str | None = None
    """With whom buyers pay there, empty: with nobody; None where no gateway runs."""

    @property
    def urls(self) -> EngineUrls:
        return EngineUrls(database_url=self.database_url, redis_url=self.redis_url)

    @property
    def alive(self) -> bool:
        """Whether the very process that wrote this still runs (a pid alone may have been given again)."""
        try:
            created_at: float = psutil.Process(self.pid).create_time()
            return abs(created_at - self.started_at) < 1
        except psutil.Error:
            return False


class DataDir:
    """One data directory. `own` makes this process its owner; the paths are where the engines keep files."""

    def __init__(self, path: Path) -> None:
        self.path = path.resolve()
        self.postgres = self.path / "postgres"
        self.valkey = self.path / "valkey"
        self.logs = self.path / "logs"
        self.runtime_path = self.path / "runtime.json"

    def prepare(self) -> None:
        """Creates the directory; refuses one that holds what onsale did not make."""
        marker = self.path / MARKER
        if self.path.exists() and not marker.exists() and any(self.path.iterdir()):
            raise DataDirNotOurs(
                f"{self.path} is not empty and was not made by onsale. Point --data-dir (or ONSALE_DATA_DIR) "
                "at a directory that is empty or does not exist yet."
            )
        self.path.mkdir(parents=True, exist_ok=True)
        self.path.chmod(0o711)  # an engine that runs as nobody walks through; every file inside is private
        marker.touch()
        self.logs.mkdir(mode=0o700, exist_ok=True)

    @contextlib.contextmanager
    def own(self) -> Iterator[None]:
        """Makes this process the only one to run engines here; raises DataDirInUse naming who does."""
        self.prepare()
        with open(self.path / "lock", "w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise DataDirInUse(self._in_use()) from None
            self.withdraw()
            try:
                yield
            finally:
                self.withdraw()

    def runtime(self) -> Runtime | None:
        """What runs here now, or None."""
        try:
            found = Runtime(**json.loads(self.runtime_path.read_text()))
        except (FileNotFoundError, ValueError, TypeError):
            return None
        return found if found.alive else None

    def announce(
        self,
        urls: EngineUrls,
        *,
        base_url: str | None = None,
        postgres_pid: int | None = None,
        valkey_pid: int | None = None,
        payment_provider: str | None = None,
    ) -> None:
        """Writes down what runs, for commands that want to join in; only the owner may."""
        runtime = Runtime(
            pid=os.getpid(),
            started_at=psutil.Process().create_time(),
            database_url=urls.database_url,
            redis_url=urls.redis_url,
            base_url=base_url,
            postgres_pid=postgres_pid,
            valkey_pid=valkey_pid,
            payment_provider=payment_provider,
        )
        write_private(self.runtime_path, json.dumps(asdict(runtime), indent=1))

    def withdraw(self) -> None:
        """Nothing can be joined here any more; only the owner may, before it stops its engines."""
        self.runtime_path.unlink(missing_ok=True)

    def secret(self, name: str) -> str:
        """A random secret that belongs to this data directory: made once, then the same for ever."""
        path = self.path / name
        if not path.exists():
            write_private(path, secrets.token_urlsafe(32))
        return path.read_text().strip()

    def has_secret(self, name: str) -> bool:
        """Whether it was made already."""
        return (self.path / name).exists()

    @contextlib.contextmanager
    def as_guest(self) -> Iterator[None]:
        """While inside, an owner that is only passing by keeps its engines up for us."""
        with open(self.path / "guests", "a") as file:
            fcntl.flock(file, fcntl.LOCK_SH)
            yield

    def wait_for_guests(self, timeout_seconds: float = GUESTS_SECONDS_MAX) -> bool:
        """Waits until no other command uses our engines, and withdraws them while none can begin to; False
        when some still do at the end of the time."""
        alone, withdrawn = threading.Event(), threading.Event()

        def wait() -> None:
            with open(self.path / "guests", "a") as file:
                fcntl.flock(file, fcntl.LOCK_EX)
                alone.set()
                withdrawn.wait()

        threading.Thread(target=wait, name="waits for guests", daemon=True).start()
        try:
            return alone.wait(timeout_seconds)
        finally:
            self.withdraw()
            withdrawn.set()

    def require_removable(self) -> None:
        """Raises DataDirNotOurs where onsale never was, and DataDirInUse while engines run in here."""
        if not (self.path / MARKER).exists():
            raise DataDirNotOurs(
                f"{self.path} was not made by onsale; nothing was removed. Remove it by hand."
            )
        with self.own():
            pass

    def remove(self) -> None:
        """Deletes everything in here; refuses as `require_removable` does."""
        self.require_removable()
        with self.own():
            shutil.rmtree(self.path)

    def _in_use(self) -> str:
        runtime = self.runtime()
        who = f"process {runtime.pid}" if runtime else "another process"
        where = f" Its page: {runtime.base_url}." if runtime and runtime.base_url else ""
        return (
            f"onsale already runs in {self.path} ({who}).{where} Stop it with Ctrl-C in its terminal"
            + (f" or `kill {runtime.pid}`" if runtime else "")
            + ", or give this one a directory of its own with --data-dir."
        )


def write_private(path: Path, text: str) -> None:
    """Writes a file that only its owner can read, whole or not at all."""
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    with open(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        file.write(text)
    fresh.replace(path)
