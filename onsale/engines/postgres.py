"""An embedded PostgreSQL: one data directory, one loopback port, durable settings.

`start` makes the data directory if need be, waits until a connection is answered, and can be called
again after `stop` or `kill`: the port and the password stay, so the URL stays. Nothing here trades
durability for speed: fsync and synchronous_commit are on, in tests too.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import select
import shutil
import signal
import subprocess
import time
from pathlib import Path

import psutil
import psycopg

from onsale.engines import ports
from onsale.engines.binaries import postgres_binary, postgres_has_lz4, postgres_major
from onsale.engines.child import Child, spawn
from onsale.engines.errors import (
    DataDirInUse,
    DataDirNotOurs,
    DataDirOfAnotherVersion,
    DiskFull,
    EngineDidNotStart,
    PortTaken,
)
from onsale.engines.identity import Identity, engine_identity, hand_over, launch_arguments, require_reachable

ROLE = "onsale"
DATABASE = "onsale"
START_SECONDS_MAX = 120.0  # crash recovery of max_wal_size on a slow disk
STOP_SECONDS_MAX = 30.0
POLL_SECONDS = 0.02
INIT_FREE_BYTES_MIN = 512 * 1024 * 1024
START_FREE_BYTES_MIN = 64 * 1024 * 1024
PORT_TRIES_MAX = 5

SETTINGS = """\
# Written at every start of onsale; put your own settings into local.conf beside this file.
listen_addresses = '127.0.0.1'
unix_socket_directories = ''
max_connections = 100
shared_buffers = 256MB
max_wal_size = 2GB
min_wal_size = 256MB
wal_compression = {wal_compression}
checkpoint_timeout = 15min
fsync = on
synchronous_commit = on
full_page_writes = on
autovacuum = on
jit = off
password_encryption = 'scram-sha-256'
timezone = 'UTC'
log_timezone = 'UTC'
log_line_prefix = '%m [%p] %a '
log_min_messages = warning
log_checkpoints = off
logging_collector = off
"""


def _stands(process: psutil.Process) -> bool:
    """Whether a process does nothing any more: stopped, or ended while the postmaster waits for nobody."""
    try:
        return process.status() in (psutil.STATUS_STOPPED, psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD)
    except psutil.NoSuchProcess:
        return True


class PostgresServer:
    """A PostgreSQL server that this process starts, stops and, in tests of faults, kills."""

    def __init__(self, data_dir: Path, *, port: int | None = None, log_path: Path | None = None) -> None:
        """`data_dir` is the server's own directory. With `port` None a free one is chosen once and kept."""
        self.data_dir = data_dir.resolve()
        self.log_path = log_path or self.data_dir.with_name(self.data_dir.name + ".log")
        self._password_path = self.data_dir.with_name(self.data_dir.name + ".password")
        self._port = port
        self._port_is_ours_to_choose = port is None
        self._child: Child | None = None

    @property
    def port(self) -> int:
        assert self._port is not None, "the port is known once the server has been started"
        return self._port

    @property
    def pid(self) -> int:
        """The postmaster's process id."""
        assert self._child is not None, "the server has not been started"
        return self._child.pid

    @property
    def running(self) -> bool:
        return self._child is not None and self._child.alive

    @property
    def url(self) -> str:
        return self.url_of(DATABASE)

    def url_of(self, database: str) -> str:
        """The address of one of this server's databases, as its superuser."""
        return f"postgresql://{ROLE}:{self._password()}@{ports.LOOPBACK}:{self.port}/{database}"

    def start(self) -> None:
        """Starts the server and returns when it answers; raises an EngineError that says what to do."""
        assert not self.running, "the server is already running"
        self.data_dir.parent.mkdir(parents=True, exist_ok=True)
        identity = engine_identity()
        require_reachable(postgres_binary("postgres"), identity, "DATABASE_URL")
        require_reachable(self.data_dir, identity, "DATABASE_URL")
        if self._is_initialised():
            _require_room(self.data_dir, START_FREE_BYTES_MIN)
        else:
            _require_room(self.data_dir.parent, INIT_FREE_BYTES_MIN)
            self._initialise(identity)
        hand_over(self.data_dir, identity)
        self._end_leftover()
        self._write_settings(identity)
        for _ in range(PORT_TRIES_MAX):
            if self._port is None:
                self._port = ports.free_port()
            try:
                self._launch(identity)
                break
            except PortTaken:
                if not self._port_is_ours_to_choose:
                    raise
                self._port = None
        else:
            raise PortTaken("Five ports in a row were taken between choosing and using them. Try again.")
        self._port_is_ours_to_choose = False
        self._create_database()

    def stop(self) -> None:
        """Ends the server in order: closes sessions, flushes everything. Nothing if it does not run."""
        if self._child is not None:
            self._child.stop(signal.SIGINT, STOP_SECONDS_MAX)

    def kill(self) -> None:
        """Ends every process of the server at once, as a power cut would; returns when all are gone."""
        if self._child is not None and self._child.alive:
            _kill_tree(self._child.pid)
            self._child.wait()

    def pause(self) -> None:
        """Stops every process of the server in its tracks (SIGSTOP); all of them stand when this returns."""
        self._processes()[0].suspend()  # the postmaster first: it starts no others from here on
        stopped = self._processes()
        for process in stopped:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.suspend()
        while not all(_stands(process) for process in stopped):
            os.sched_yield()  # a signal to another process has no event to wait for; it takes microseconds

    def resume(self) -> None:
        """Lets a paused server go on."""
        for process in self._processes():
            with contextlib.suppress(psutil.NoSuchProcess):
                process.resume()

    def _processes(self) -> list[psutil.Process]:
        assert self._child is not None, "the server has not been started"
        postmaster = psutil.Process(self._child.pid)
        return [postmaster, *postmaster.children(recursive=True)]

    def _password(self) -> str:
        if not self._password_path.exists():
            _write_private(self._password_path, secrets.token_urlsafe(24))
        return self._password_path.read_text().strip()

    def _is_initialised(self) -> bool:
        version_file = self.data_dir / "PG_VERSION"
        if version_file.exists():
            found = version_file.read_text().strip()
            if found != str(postgres_major()):
                raise DataDirOfAnotherVersion(
                    f"{self.data_dir} was written by PostgreSQL {found}, this onsale brings "
                    f"{postgres_major()}. Dump it with the old version and load it into the new one, point "
                    "--data-dir elsewhere, or start afresh with ./run reset."
                )
            return True
        if self.data_dir.exists() and any(self.data_dir.iterdir()):
            raise DataDirNotOurs(
                f"{self.data_dir} is not empty and holds no database. Move it away, or use another "
                "--data-dir."
            )
        return False

    def _initialise(self, identity: Identity) -> None:
        """Makes the cluster beside its final place and renames it: an interruption leaves no half of one."""
        making = self.data_dir.with_name(self.data_dir.name + ".making")
        shutil.rmtree(making, ignore_errors=True)
        making.mkdir(mode=0o700)
        cluster, password_file = making / "cluster", making / "password"
        cluster.mkdir(mode=0o700)
        _write_private(password_file, self._password())
        if identity.owner is not None:
            hand_over(making, identity)
        initdb = subprocess.run(
            launch_arguments(
                identity,
                signal.SIGKILL,
                postgres_binary("initdb"),
                f"--pgdata={cluster}",
                f"--username={ROLE}",
                f"--pwfile={password_file}",
                "--auth=scram-sha-256",
                "--encoding=UTF8",
                "--locale=C",
                "--locale-provider=builtin",
                "--builtin-locale=C.UTF-8",
            ),
            env=_server_env(),
            capture_output=True,
            text=True,
            check=False,
            start_new_session=True,
        )
        if initdb.returncode != 0:
            said = (initdb.stderr or initdb.stdout).strip()
            shutil.rmtree(making, ignore_errors=True)
            raise _start_error("initdb", self.data_dir, said, self.log_path)
        with open(cluster / "postgresql.conf", "a") as conf:
            conf.write("\ninclude 'onsale.conf'\ninclude_if_exists 'local.conf'\n")
        if self.data_dir.exists():
            self.data_dir.rmdir()
        cluster.rename(self.data_dir)
        shutil.rmtree(making, ignore_errors=True)

    def _write_settings(self, identity: Identity) -> None:
        path = self.data_dir / "onsale.conf"
        path.write_text(SETTINGS.format(wal_compression="lz4" if postgres_has_lz4() else "off"))
        if identity.owner is not None:
            os.chown(path, identity.owner, identity.owner)

    def _end_leftover(self) -> None:
        """Ends a server that outlived its onsale (where the kernel offers no tie to the parent)."""
        with contextlib.suppress(FileNotFoundError, ValueError, IndexError, psutil.Error):
            pid = int((self.data_dir / "postmaster.pid").read_text().splitlines()[0])
            process = psutil.Process(pid)
            if process.name() == "postgres" and str(self.data_dir) in process.cmdline():
                process.send_signal(signal.SIGQUIT)
                try:
                    process.wait(STOP_SECONDS_MAX)
                except psutil.TimeoutExpired:
                    _kill_tree(pid)

    def _launch(self, identity: Identity) -> None:
        self._child = spawn(
            "postgres",
            [postgres_binary("postgres"), "-D", self.data_dir, "-c", f"port={self.port}"],
            log_path=self.log_path,
            env=_server_env(),
            identity=identity,
            death_signal=signal.SIGQUIT,  # immediate shutdown: losing the parent is a crash, recovered as one
        )
        deadline = time.monotonic() + START_SECONDS_MAX
        while True:
            if self._child.wait(POLL_SECONDS) is not None:
                raise _start_error(
                    "postgres", self.data_dir, self._child.last_words(), self.log_path, self.port
                )
            trouble = "its postmaster.pid does not say ready"
            try:
                if self._says_ready():
                    with psycopg.connect(self.url_of("postgres"), connect_timeout=5):
                        return
            except psycopg.OperationalError as error:
                trouble = str(error)
                if "password authentication failed" in trouble:
                    self.stop()
                    raise DataDirNotOurs(
                        f"{self._password_path} does not hold the password of the database in "
                        f"{self.data_dir}. Put the right file back, use another --data-dir, "
                        "or start afresh with ./run reset."
                    ) from None
            if time.monotonic() > deadline:
                words = self._child.last_words()
                self.stop()
                raise EngineDidNotStart(
                    f"PostgreSQL did not answer within {START_SECONDS_MAX:.0f} s ({trouble}).\n{words}\n"
                    f"The whole log: {self.log_path}"
                )

    def _says_ready(self) -> bool:
        """Whether this very postmaster has written that it takes connections (in postmaster.pid)."""
        try:
            lines = (self.data_dir / "postmaster.pid").read_text().splitlines()
        except FileNotFoundError:
            return False
        return len(lines) >= 8 and lines[0] == str(self.pid) and lines[7].strip() == "ready"

    def _create_database(self) -> None:
        with psycopg.connect(self.url_of("postgres"), autocommit=True) as connection:
            if (
                connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [DATABASE]).fetchone()
                is None
            ):
                connection.execute(f'CREATE DATABASE "{DATABASE}"')


def _server_env() -> dict[str, str]:
    """What the server may see: no PG* variable of ours changes its mind, and messages are in English."""
    return {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C"}


def _write_private(path: Path, text: str) -> None:
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        file.write(text)


def _require_room(folder: Path, bytes_min: int) -> None:
    free = shutil.disk_usage(folder).free
    if free < bytes_min:
        raise DiskFull(
            f"{folder} has {free // 2**20} MiB free; PostgreSQL needs {bytes_min // 2**20} MiB to start. "
            "Free some space, or use another --data-dir."
        )


def _start_error(
    program: str, data_dir: Path, said: str, log_path: Path, port: int | None = None
) -> PortTaken | DiskFull | DataDirInUse | EngineDidNotStart:
    """The error that the program's last words mean."""
    if "No space left on device" in said:
        return DiskFull(
            f"The disk of {data_dir} is full. Free some space, or use another --data-dir.\n{said}"
        )
    if "already exists" in said and "postmaster.pid" in said:
        return DataDirInUse(
            f"Another PostgreSQL runs in {data_dir}. Stop it, or use another --data-dir.\n{said}"
        )
    if "could not bind" in said or "Address already in use" in said or "could not create any TCP/IP" in said:
        return PortTaken(f"Port {port} on {ports.LOOPBACK} is taken. Stop its owner, or choose another port.")
    return EngineDidNotStart(
        f"{program} ended while it was starting. Its last words:\n{said}\nThe whole log: {log_path}"
    )


def _kill_tree(pid: int) -> None:
    """Kills a process and all its descendants; it is stopped first, so that it starts no more of them."""
    with contextlib.suppress(psutil.NoSuchProcess):
        parent = psutil.Process(pid)
        parent.suspend()
        tree = [*parent.children(recursive=True), parent]
        with contextlib.ExitStack() as ends:
            ending = [ends.enter_context(_Ending(process.pid)) for process in tree]
            for process in tree:
                with contextlib.suppress(psutil.NoSuchProcess):
                    process.kill()
            for end in ending:
                end.wait(STOP_SECONDS_MAX)


class _Ending:
    """The end of a process that need not be our child, as an event where the kernel offers one."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._fd: int | None = None
        if hasattr(os, "pidfd_open"):
            with contextlib.suppress(OSError):
                self._fd = os.pidfd_open(pid)

    def wait(self, timeout_seconds: float) -> None:
        if self._fd is not None:
            select.select([self._fd], [], [], timeout_seconds)
        else:
            with contextlib.suppress(psutil.Error):
                psutil.Process(self._pid).wait(timeout_seconds)

    def __enter__(self) -> _Ending:
        return self

    def __exit__(self, *_: object) -> None:
        if self._fd is not None:
            os.close(self._fd)
