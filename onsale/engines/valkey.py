"""An embedded Valkey: every acknowledged write is on disk (`appendfsync always`), nothing is ever evicted.

`start` waits until PING is answered and can be called again after `stop` or `kill`: the port and the
password stay, so the URL stays.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import signal
import time
from pathlib import Path

import psutil
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from onsale.engines import ports
from onsale.engines.binaries import valkey_binary
from onsale.engines.child import Child, spawn
from onsale.engines.errors import DiskFull, EngineDidNotStart, PortTaken

START_SECONDS_MAX = 120.0  # loading a large append-only file
STOP_SECONDS_MAX = 30.0
POLL_SECONDS = 0.01
START_FREE_BYTES_MIN = 64 * 1024 * 1024
PORT_TRIES_MAX = 5

SETTINGS = """\
# Written at every start of onsale.
bind 127.0.0.1
protected-mode yes
requirepass {password}
daemonize no
databases {databases}
dir "{folder}"
appendonly yes
appendfsync always
no-appendfsync-on-rewrite no
auto-aof-rewrite-percentage 100
auto-aof-rewrite-min-size 64mb
aof-load-truncated yes
save ""
maxmemory-policy noeviction
tcp-keepalive 60
maxclients 10000
loglevel notice
"""


class ValkeyServer:
    """A Valkey server that this process starts, stops and, in tests of faults, kills."""

    def __init__(
        self, data_dir: Path, *, port: int | None = None, databases: int = 16, log_path: Path | None = None
    ) -> None:
        """`data_dir` is the server's own directory. With `port` None a free one is chosen once and kept."""
        self.data_dir = data_dir.resolve()
        self.log_path = log_path or self.data_dir.with_name(self.data_dir.name + ".log")
        self.databases = databases
        self._port = port
        self._port_is_ours_to_choose = port is None
        self._child: Child | None = None

    @property
    def port(self) -> int:
        assert self._port is not None, "the port is known once the server has been started"
        return self._port

    @property
    def pid(self) -> int:
        assert self._child is not None, "the server has not been started"
        return self._child.pid

    @property
    def running(self) -> bool:
        return self._child is not None and self._child.alive

    @property
    def url(self) -> str:
        return self.url_of(0)

    def url_of(self, database: int) -> str:
        """The address of one of this server's numbered databases."""
        return f"redis://:{self._password()}@{ports.LOOPBACK}:{self.port}/{database}"

    def start(self) -> None:
        """Starts the server and returns when it answers; raises an EngineError that says what to do."""
        assert not self.running, "the server is already running"
        self.data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        free = shutil.disk_usage(self.data_dir).free
        if free < START_FREE_BYTES_MIN:
            raise DiskFull(
                f"{self.data_dir} has {free // 2**20} MiB free; Valkey needs "
                f"{START_FREE_BYTES_MIN // 2**20} MiB to start. Free some space, or use another --data-dir."
            )
        self._end_leftover()
        self._write_settings()
        for _ in range(PORT_TRIES_MAX):
            if self._port is None:
                self._port = ports.free_port()
            try:
                self._launch()
                break
            except PortTaken:
                if not self._port_is_ours_to_choose:
                    raise
                self._port = None
        else:
            raise PortTaken("Five ports in a row were taken between choosing and using them. Try again.")
        self._port_is_ours_to_choose = False

    def stop(self) -> None:
        """Ends the server in order. Nothing if it does not run."""
        if self._child is not None:
            self._child.stop(signal.SIGTERM, STOP_SECONDS_MAX)

    def kill(self) -> None:
        """Ends the server at once, as a power cut would."""
        if self._child is not None:
            self._child.send(signal.SIGKILL)
            self._child.wait()

    def pause(self) -> None:
        """Stops the server in its tracks (SIGSTOP) until `resume`."""
        psutil.Process(self.pid).suspend()

    def resume(self) -> None:
        """Lets a paused server go on."""
        psutil.Process(self.pid).resume()

    def wipe(self) -> None:
        """Removes everything the stopped server had stored: the loss of Redis that onsale must survive."""
        assert not self.running, "stop or kill the server before wiping it"
        shutil.rmtree(self.data_dir)

    @property
    def _settings_path(self) -> Path:
        return self.data_dir.with_name(self.data_dir.name + ".conf")

    def _password(self) -> str:
        path = self.data_dir.with_name(self.data_dir.name + ".password")
        if not path.exists():
            with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
                file.write(secrets.token_urlsafe(24))
        return path.read_text().strip()

    def _write_settings(self) -> None:
        text = SETTINGS.format(password=self._password(), databases=self.databases, folder=self.data_dir)
        with open(os.open(self._settings_path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            file.write(text)

    def _end_leftover(self) -> None:
        """Ends a server that outlived its onsale (where the kernel offers no tie to the parent)."""
        pid_path = self.data_dir.with_name(self.data_dir.name + ".pid")
        with contextlib.suppress(FileNotFoundError, ValueError, psutil.Error):
            process = psutil.Process(int(pid_path.read_text()))
            if str(self._settings_path) in process.cmdline():
                process.kill()
                process.wait(STOP_SECONDS_MAX)

    def _launch(self) -> None:
        self._child = spawn(
            "valkey",
            [valkey_binary(), self._settings_path, "--port", str(self.port)],
            log_path=self.log_path,
            env={"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C"},
            death_signal=signal.SIGTERM,
        )
        self.data_dir.with_name(self.data_dir.name + ".pid").write_text(str(self._child.pid))
        deadline = time.monotonic() + START_SECONDS_MAX
        while self._child.wait(POLL_SECONDS) is None:
            if self._answers():
                return
            if time.monotonic() > deadline:
                words = self._child.last_words()
                self.stop()
                raise EngineDidNotStart(
                    f"Valkey did not answer within {START_SECONDS_MAX:.0f} s.\n{words}\n"
                    f"The whole log: {self.log_path}"
                )
        raise self._start_error(self._child.last_words())

    def _answers(self) -> bool:
        client = redis.Redis(
            host=ports.LOOPBACK,
            port=self.port,
            password=self._password(),
            socket_timeout=0.5,  # somebody else's server on this port may never answer
            socket_connect_timeout=0.5,
            retry=Retry(NoBackoff(), 0),
        )
        try:
            return bool(client.ping())
        except (redis.ConnectionError, redis.TimeoutError):
            return False
        finally:
            client.close()

    def _start_error(self, said: str) -> PortTaken | DiskFull | EngineDidNotStart:
        if "No space left on device" in said:
            return DiskFull(
                f"The disk of {self.data_dir} is full. Free some space, or use another --data-dir.\n{said}"
            )
        if "Address already in use" in said or "Failed listening on port" in said:
            return PortTaken(
                f"Port {self.port} on {ports.LOOPBACK} is taken. Stop its owner, or choose another port."
            )
        return EngineDidNotStart(
            f"Valkey ended while it was starting. Its last words:\n{said}\nThe whole log: {self.log_path}"
        )
