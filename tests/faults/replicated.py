"""Engines that fail over: a primary with replicas and Sentinels, a Postgres with a synchronous standby.

Real servers out of the embedded binaries, each with its own data, all gone with the block that made them.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
from pathlib import Path
from typing import Any

import psycopg
import redis

from onsale.engines import ports
from onsale.engines.binaries import postgres_binary, valkey_binary
from onsale.engines.child import Child, spawn
from onsale.engines.postgres import PostgresServer
from onsale.engines.valkey import ValkeyServer
from tests.faults.stage import until

NAME = "tickets"
REPLICAS = 2
SENTINELS = 3
DOWN_AFTER_MS = 1_500
"""Longer than a loaded machine lets a living one wait."""
OFTEN_MS = {
    "info-period": 300,
    "ping-period": 200,
    "ask-period": 200,
    "publish-period": 300,
    "min-link-reconnect-period": 200,
    "tilt-period": 1_000,
}
"""How often Sentinels look around, which by themselves they do every 1 to 10 s; and how long they do nothing
after the machine kept them from running for 2 s, which is 30 s by itself."""
ENV = {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C"}

SENTINEL = """\
port {port}
bind 127.0.0.1
dir "{folder}"
sentinel monitor {name} 127.0.0.1 {primary} 2
sentinel auth-pass {name} {password}
sentinel down-after-milliseconds {name} {down_after_ms}
sentinel failover-timeout {name} 3000
"""


def told(server: ValkeyServer, section: str) -> dict[str, Any]:
    """What it says of itself; nothing where it is away, or a Sentinel just ended its connections."""
    try:
        with contextlib.closing(redis.Redis.from_url(server.url)) as client:
            return dict(client.info(section))
    except redis.RedisError:
        return {}


class WatchedValkey:
    """A primary, two replicas and three Sentinels, who promote a replica when the primary is gone."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.servers: list[ValkeyServer] = []
        self._sentinels: list[Child] = []
        self._ports: list[int] = []
        self._password = ""

    def __enter__(self) -> WatchedValkey:
        for number in range(1 + REPLICAS):
            server = ValkeyServer(self._folder / f"valkey-{number}")
            if self.servers:  # one password for all: whoever is promoted is asked with it
                shutil.copy(self._folder / "valkey-0.password", self._folder / f"valkey-{number}.password")
            server.start()
            self.servers.append(server)
        self._password = (self._folder / "valkey-0.password").read_text().strip()
        for server in self.servers:
            self._make_electable(server)
        for replica in self.servers[1:]:
            self._say(replica, "REPLICAOF", ports.LOOPBACK, str(self.servers[0].port))
        until(lambda: self.replicas() == REPLICAS, "every replica follows the primary")
        for number in range(SENTINELS):
            self._start_sentinel(number)
        until(self._sentinels_answer, "the Sentinels answer")
        for number in range(SENTINELS):
            often = [str(word) for period in OFTEN_MS.items() for word in period]
            self._ask_sentinel(number, "SENTINEL", "DEBUG", *often)
        until(self._sentinels_agree, "the Sentinels know each other and the replicas")
        return self

    def __exit__(self, *_: object) -> None:
        for sentinel in self._sentinels:
            sentinel.stop(signal.SIGTERM, 5)
        for server in self.servers:
            server.stop()

    @property
    def url(self) -> str:
        """Where onsale is told to find whoever is primary."""
        hosts = ",".join(f"{ports.LOOPBACK}:{port}" for port in self._ports)
        return f"redis+sentinel://:{self._password}@{hosts}/{NAME}/0"

    def primary(self) -> int:
        """The port of whoever the first Sentinel says is primary."""
        _, port = self._ask_sentinel(0, "SENTINEL", "GET-MASTER-ADDR-BY-NAME", NAME)
        return int(port)

    def fail_over(self) -> None:
        """The Sentinels are told to promote a replica while the primary lives."""
        self._ask_sentinel(0, "SENTINEL", "FAILOVER", NAME)

    def leading(self) -> ValkeyServer:
        """Whoever is primary."""
        port = self.primary() if self._ports else self.servers[0].port
        return next(one for one in self.servers if one.port == port)

    def following(self) -> list[ValkeyServer]:
        """The others."""
        leading = self.leading()
        return [one for one in self.servers if one is not leading]

    def heal(self) -> None:
        """Every server runs, and all follow one primary that the Sentinels agree on."""
        for server in self.servers:
            if not server.running:
                server.start()
                self._make_electable(server)
        until(lambda: self.replicas() == REPLICAS, "every replica follows the primary")
        until(self._sentinels_agree, "the Sentinels know each other and the replicas")

    def replicas(self) -> int:
        """How many replicas the primary has that are caught up and reachable."""
        info = told(self.leading(), "replication")
        known = [value for key, value in info.items() if key.startswith("slave") and isinstance(value, dict)]
        return sum(value["state"] == "online" for value in known)

    def _make_electable(self, server: ValkeyServer) -> None:
        self._say(server, "CONFIG", "SET", "masterauth", self._password)
        self._say(server, "CONFIG", "SET", "repl-diskless-sync-delay", "0")

    def _start_sentinel(self, number: int) -> None:
        port = ports.free_port()
        folder = self._folder / f"sentinel-{number}"
        folder.mkdir()
        config = folder / "sentinel.conf"
        config.write_text(
            SENTINEL.format(
                port=port,
                folder=folder,
                name=NAME,
                primary=self.servers[0].port,
                password=self._password,
                down_after_ms=DOWN_AFTER_MS,
            )
        )
        program: list[str | Path] = [valkey_binary(), config, "--sentinel"]
        self._sentinels.append(spawn("sentinel", program, log_path=folder / "log", env=ENV))
        self._ports.append(port)

    def _sentinels_answer(self) -> bool:
        try:
            return all(self._ask_sentinel(number, "PING") for number in range(SENTINELS))
        except redis.ConnectionError:
            return False

    def _sentinels_agree(self) -> bool:
        for number in range(SENTINELS):
            try:
                told = self._ask_sentinel(number, "SENTINEL", "MASTER", NAME)
            except redis.ConnectionError:
                return False
            said = told if isinstance(told, dict) else dict(zip(told[::2], told[1::2], strict=True))
            known = (int(said["num-other-sentinels"]), int(said["num-slaves"]))
            if known != (SENTINELS - 1, REPLICAS) or int(said["port"]) != self.primary():
                return False
        return True

    def _ask_sentinel(self, number: int, *command: str) -> Any:
        url = f"redis://{ports.LOOPBACK}:{self._ports[number]}"
        with contextlib.closing(redis.Redis.from_url(url, decode_responses=True)) as client:
            return client.execute_command(*command)

    def _say(self, server: ValkeyServer, *command: str) -> None:
        with contextlib.closing(redis.Redis.from_url(server.url)) as client:
            client.execute_command(*command)


class StandbyPostgres:
    """A Postgres and a synchronous standby of it: what was committed is on both their disks."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.first = PostgresServer(folder / "first")
        self.second = PostgresServer(folder / "second")

    def __enter__(self) -> StandbyPostgres:
        self.first.start()
        shutil.copy(self._folder / "first.password", self._folder / "second.password")
        subprocess.run(
            [
                postgres_binary("pg_basebackup"),
                "--write-recovery-conf",
                "--checkpoint=fast",
                f"--pgdata={self.second.data_dir}",
                f"--dbname={self.first.url_of('postgres')}",
            ],
            check=True,
            capture_output=True,
            env=ENV,
        )
        self.second.start()
        with psycopg.connect(self.first.url, autocommit=True) as conn:
            conn.execute("ALTER SYSTEM SET synchronous_standby_names = '*'")
            conn.execute("SELECT pg_reload_conf()")
            until(
                lambda: conn.execute("SELECT sync_state FROM pg_stat_replication").fetchall() == [("sync",)],
                "the standby is synchronous",
            )
        return self

    def __exit__(self, *_: object) -> None:
        for server in (self.second, self.first):
            server.stop()

    @property
    def url(self) -> str:
        """libpq's way to say: whichever of the two takes writes."""
        login, _, rest = self.first.url.partition("@")
        own, _, database = rest.partition("/")
        return f"{login}@{own},{ports.LOOPBACK}:{self.second.port}/{database}?target_session_attrs=read-write"

    def promote(self) -> None:
        """The standby takes writes from now on."""
        with psycopg.connect(self.second.url, autocommit=True) as conn:
            conn.execute("SELECT pg_promote()")
