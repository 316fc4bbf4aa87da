"""What compose.yaml starts, started for real: each service's command behind the entrypoint, with the same
environment and its secrets in files, as plain processes on the embedded engines; buyers come by the proxy.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import psutil
import psycopg
import pytest
import yaml

from onsale.engines.ports import free_port
from store import migrate
from tests.conftest import Rig, engines_beside
from tests.deploy.selling import GALA, Buyer, call, make_sale, until

ROOT = Path(__file__).resolve().parents[2]
SERVICES = yaml.safe_load((ROOT / "compose.yaml").read_text())["services"]
VARIABLE = re.compile(r"\$\{(?P<name>[A-Z_]+):-(?P<usual>[^}]*)\}")
STOP_SECONDS_MAX = 40
REHEARSAL = dict(
    line.split("=", 1) for line in (ROOT / "deploy/rehearsal.env").read_text().splitlines() if line[:1] != "#"
)


class Composed:
    """The services, as Compose would start them, but for where they listen and find each other."""

    def __init__(
        self,
        folder: Path,
        database_url: str,
        redis_url: str,
        *,
        code: Path = ROOT,
        as_whom: Sequence[str] = (),
    ) -> None:
        """`code` is where the rooms are; `as_whom` a program that gives rights up and becomes a service."""
        self.folder, self.database_url, self.redis_url = folder, database_url, redis_url
        self.code, self.as_whom = code, as_whom
        (folder / "make-secrets.sh").write_text((ROOT / "deploy/make-secrets.sh").read_text())
        subprocess.run(["sh", folder / "make-secrets.sh"], check=True, capture_output=True)
        self.secrets = folder / "secrets"
        (self.secrets / "database_url").chmod(0o644)
        (self.secrets / "database_url").write_text(database_url)
        self.gateways = [free_port(), free_port()]
        self.provider = free_port()
        self.beat = folder / "chores.beat"
        self.running: dict[str, subprocess.Popen[bytes]] = {}

    def environment(self, service: str, **more: str) -> dict[str, str]:
        given = REHEARSAL | {"ONSALE_SIMULATED_PAGES": f"http://127.0.0.1:{self.provider}"}
        given["ONSALE_SIMULATED_URL"] = f"http://127.0.0.1:{self.provider}"
        told = {
            name: VARIABLE.sub(lambda found: given.get(found["name"]) or found["usual"], value)
            for name, value in SERVICES[service]["environment"].items()
        }
        told = {name: value.replace("/run/secrets", str(self.secrets)) for name, value in told.items()}
        if "REDIS_URL" in told:
            told["REDIS_URL"] = self.redis_url
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        return {"PATH": path, "PYTHONPATH": str(self.code), **told, **more}

    def start(self, name: str, service: str, **more: str) -> subprocess.Popen[bytes]:
        entrypoint = str(self.code / "deploy/entrypoint.sh")
        command = [*self.as_whom, "sh", entrypoint, *SERVICES[service]["command"]]
        with (self.folder / f"{name}.log").open("wb") as log:
            self.running[name] = subprocess.Popen(
                command, env=self.environment(service, **more), stdout=log, stderr=log, cwd=self.code
            )
        return self.running[name]

    def start_all(self) -> None:
        assert self.start("migrate", "migrate").wait(120) == 0, self.log("migrate")
        del self.running["migrate"]
        here = {"ONSALE_HOST": "127.0.0.1"}
        notify = ",".join(f"http://127.0.0.1:{port}/v1/payments/notices/simulated" for port in self.gateways)
        own = {"ONSALE_PORT": str(self.provider), "ONSALE_SIMULATED_DIR": str(self.folder / "simulated")}
        self.start("simulated", "simulated", **here, **own, ONSALE_SIMULATED_NOTIFY=notify)
        for number, port in enumerate(self.gateways, start=1):
            more = here | {"ONSALE_PORT": str(port), "ONSALE_TRUSTED_PROXIES": "127.0.0.0/8"}
            self.start(f"gateway-{number}", "gateway", **more)
        self.start("worker", "worker", ONSALE_HOST_NAME="here")
        own = {"ONSALE_DATA_DIR": str(self.folder / "data"), "ONSALE_CHORES_BEAT": str(self.beat)}
        self.start("chores", "chores", **own)
        ports = (*self.gateways, self.provider)
        until(lambda: all(map(self.is_ready, ports)), "gateways and provider are ready")

    def is_ready(self, port: int) -> bool:
        for name, process in self.running.items():
            assert process.poll() is None, f"{name} ended: {self.log(name)}"
        try:
            return call("GET", f"http://127.0.0.1:{port}/health/ready").status == 200
        except OSError:
            return False

    def log(self, name: str) -> str:
        return (self.folder / f"{name}.log").read_text(errors="replace")[-3_000:]

    def stop(self, name: str, number: signal.Signals = signal.SIGTERM) -> int:
        process = self.running.pop(name)
        process.send_signal(number)
        try:
            return process.wait(STOP_SECONDS_MAX)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise

    def stop_all(self) -> dict[str, int]:
        return {name: self.stop(name) for name in list(self.running)}

    @property
    def token_secret(self) -> str:
        return (self.secrets / "token_secret").read_text()


@pytest.fixture(scope="module")
def composed(rig: Rig, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Composed]:
    with engines_beside(rig) as urls:
        migrate.upgrade(urls.database_url)
        made = Composed(tmp_path_factory.mktemp("composed"), urls.database_url, urls.redis_url)
        try:
            made.start_all()
            make_sale(urls.database_url, GALA, room=False)
            yield made
        finally:
            made.stop_all()


def sells(composed: Composed, base_url: str, name: str) -> None:
    """From asking to an order, that chores, worker, gateways and provider all had a part in."""
    buyer = Buyer(base_url, composed.token_secret, name, GALA)
    buyer.pay(buyer.hold())


def test_a_sale_goes_through_all_of_them(composed: Composed):
    sells(composed, f"http://127.0.0.1:{composed.gateways[0]}", "ann")
    with psycopg.connect(composed.database_url) as conn:
        looked = "SELECT count(*) FROM chore_run WHERE runs > 0"
        conn.autocommit = True
        until(lambda: conn.execute(looked).fetchall()[0][0], "chores ran")


def health(composed: Composed, service: str, **more: str) -> int:
    """The exit code of a service's health check."""
    command = [str(ROOT / "deploy/entrypoint.sh"), *SERVICES[service]["healthcheck"]["test"][3:]]
    env = composed.environment(service, **more)
    return subprocess.run(["sh", *command], env=env, capture_output=True, cwd=ROOT, timeout=60).returncode


def test_the_workers_health_check_finds_it_well_and_a_host_nobody_heard_of_not(composed: Composed):
    until(lambda: health(composed, "worker", ONSALE_HOST_NAME="here") == 0, "the host is heard of")
    assert health(composed, "worker", ONSALE_HOST_NAME="elsewhere") == 1


def test_the_chores_health_check_finds_them_well_and_not_while_they_stand_still(composed: Composed):
    def check() -> int:
        return health(composed, "chores", ONSALE_CHORES_BEAT=str(composed.beat))

    until(lambda: check() == 0, "the chores go on")
    process = composed.running["chores"]
    process.send_signal(signal.SIGSTOP)
    try:
        until(lambda: psutil.Process(process.pid).status() == psutil.STATUS_STOPPED, "it stands still")
        os.utime(composed.beat, (0, 0))
        assert check() == 1
    finally:
        process.send_signal(signal.SIGCONT)
    until(lambda: check() == 0, "they go on again")


@pytest.fixture(scope="module")
def proxy(composed: Composed) -> Iterator[str]:
    """Its address; HAProxy with the very configuration that compose.yaml gives it."""
    haproxy = shutil.which("haproxy") or shutil.which("haproxy", path="/usr/sbin")
    if haproxy is None:
        pytest.skip("haproxy is not installed: deploy/haproxy/haproxy.cfg is not tried here")
    port, alive = free_port(), free_port()
    text = (ROOT / "deploy/haproxy/haproxy.cfg").read_text()
    template = 'server-template gateway "${PROXY_GATEWAYS_MAX}" "${PROXY_GATEWAYS}"'
    assert template in text
    servers = "\n".join(f"    server gateway{at} 127.0.0.1:{at}" for at in composed.gateways)
    settings = composed.folder / "haproxy.cfg"  # names of containers are not known to this machine's resolver
    settings.write_text(
        text.replace(template, servers.strip()).replace("/tmp/haproxy.sock", f"{composed.folder}/h")
    )
    env = {"PROXY_BIND": f"127.0.0.1:{port}", "PROXY_ALIVE": f"127.0.0.1:{alive}", "PROXY_SOCKETS_MAX": "500"}
    with (composed.folder / "proxy.log").open("wb") as log:
        process = subprocess.Popen([haproxy, "-W", "-f", str(settings)], env=env, stdout=log, stderr=log)
    try:
        until(lambda: _up(f"http://127.0.0.1:{alive}/up"), "the proxy is up")
        until(lambda: _up(f"http://127.0.0.1:{port}/v1/events/{GALA}"), "it has found a gateway")
        yield f"http://127.0.0.1:{port}"
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(STOP_SECONDS_MAX)


def _up(url: str) -> bool:
    try:
        return call("GET", url).status == 200
    except OSError:
        return False


def test_buyers_come_by_the_proxy_and_what_is_for_within_stays_there(composed: Composed, proxy: str):
    sells(composed, proxy, "bob")
    for path in ("/metrics", "/health/ready", "/v1/operator/metrics", "/v1/operator/chores/metrics"):
        assert call("GET", proxy + path).status == 404, path


def test_a_gateway_that_is_restarted_costs_no_call(composed: Composed, proxy: str):
    composed.stop("gateway-1")
    for _ in range(20):
        assert call("GET", f"{proxy}/v1/events/{GALA}").status == 200
    port = composed.gateways[0]
    more = {"ONSALE_HOST": "127.0.0.1", "ONSALE_PORT": str(port), "ONSALE_TRUSTED_PROXIES": "127.0.0.0/8"}
    composed.start("gateway-1", "gateway", **more)
    until(lambda: composed.is_ready(port), "it is back")
    composed.stop("gateway-2")
    until(lambda: _up(f"{proxy}/v1/events/{GALA}"), "the first one has everybody")
    sells(composed, proxy, "cem")


def test_the_proxys_log_names_nobody(composed: Composed, proxy: str):
    call("GET", f"{proxy}/v1/events/{GALA}?access_token=secret-token-9931")
    log = composed.log("proxy")
    assert '"logger":"proxy"' in log
    assert "secret-token-9931" not in log
    assert "127.0.0.1:" not in re.sub(r'"backend":"[^"]*"', "", log.partition('"logger"')[2])


def test_all_of_them_end_well_when_they_are_told_to(composed: Composed):
    ended = composed.stop_all()
    assert set(ended.values()) <= {0, -signal.SIGTERM}, ended
