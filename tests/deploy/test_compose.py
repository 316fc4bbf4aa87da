"""compose.yaml and the Dockerfile: only keys we know, modules and settings that exist, durable engines.

`compose_shape.json` is our own and narrower than the Compose specification: a key that is not in it is
either a mistake or new here, and then it is added after a look at the specification.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
from pathlib import Path

import jsonschema
import pytest
import yaml
from standardwebhooks import Webhook

from gateway.settings import PaymentSettings
from onsale.simulated.settings import Settings as Provider

ROOT = Path(__file__).resolve().parents[2]
COMPOSE = yaml.safe_load((ROOT / "compose.yaml").read_text())
SERVICES = COMPOSE["services"]
OURS = sorted(name for name, service in SERVICES.items() if service.get("build"))
DOCKERFILE = (ROOT / "Dockerfile").read_text()
ENTRYPOINT = ROOT / "deploy/entrypoint.sh"
REHEARSAL = ROOT / "deploy/rehearsal.env"


OTHERS = sorted(set(SERVICES) - set(OURS))
PROFILES = {"simulated": ["simulated"], "prometheus": ["metrics"], "grafana": ["metrics"]}


def _module_of(command: list[str]) -> str:
    assert command[:2] == ["python", "-m"], command
    return command[2]


def _exists(module: str) -> bool:
    spec = importlib.util.find_spec(module)
    if spec is not None and spec.submodule_search_locations:
        return importlib.util.find_spec(f"{module}.__main__") is not None
    return spec is not None


def test_compose_says_only_what_we_know():
    schema = json.loads((Path(__file__).with_name("compose_shape.json")).read_text())
    validator = jsonschema.Draft202012Validator(schema)
    assert [f"{error.json_path}: {error.message}" for error in validator.iter_errors(COMPOSE)] == []


@pytest.mark.parametrize("wrong", [{"comand": ["x"]}, {"restart": False}, {"environment": {"A": 1}}])
def test_a_mistake_would_be_noticed(wrong):
    schema = json.loads((Path(__file__).with_name("compose_shape.json")).read_text())
    broken = {**COMPOSE, "services": {"gateway": {**SERVICES["gateway"], **wrong}}}
    assert list(jsonschema.Draft202012Validator(schema).iter_errors(broken))


@pytest.mark.parametrize("service", OURS)
def test_every_command_names_a_module_that_exists(service):
    assert _exists(_module_of(SERVICES[service]["command"]))


def test_the_images_own_command_and_copies_exist():
    command = re.search(r"^CMD (.+)$", DOCKERFILE, re.MULTILINE)
    assert command is not None
    assert _exists(_module_of(json.loads(command[1])))
    copied = re.findall(r"^COPY (?!--from)(\S+)", DOCKERFILE, re.MULTILINE)
    assert [path for path in copied if not (ROOT / path).exists()] == []
    allowed = set((ROOT / ".dockerignore").read_text().split())
    assert {f"!{path}" for path in copied} <= allowed


@pytest.mark.parametrize("service", OURS)
def test_our_containers_have_no_more_rights_than_they_need(service):
    told = SERVICES[service]
    assert told["read_only"] is True
    assert told["cap_drop"] == ["ALL"]
    assert re.search(r"^USER 10001", DOCKERFILE, re.MULTILINE)


@pytest.mark.parametrize("service", sorted(set(OTHERS) - {"postgres", "valkey"}))
def test_containers_of_others_have_no_more_rights_than_they_need(service):
    told = SERVICES[service]
    assert told["read_only"] is True
    assert told["cap_drop"] == ["ALL"]
    assert not told["user"].startswith("0:")


def test_every_service_that_stays_says_whether_it_is_well():
    """What migrates does its work once and ends: its exit code says how it went."""
    without = {name for name, told in SERVICES.items() if "healthcheck" not in told}
    assert without == {"migrate"}
    assert SERVICES["migrate"]["restart"] == "no"


@pytest.mark.parametrize("service", sorted({"worker", "chores"} & set(OURS)))
def test_a_health_check_by_a_module_of_ours_names_one_that_exists(service):
    """Behind the entrypoint, since what it asks is in secrets."""
    test = SERVICES[service]["healthcheck"]["test"]
    assert test[:3] == ["CMD", "sh", "/app/deploy/entrypoint.sh"]
    assert _exists(_module_of(test[3:]))


def test_its_postgres_orders_text_as_the_embedded_one():
    asked = SERVICES["postgres"]["environment"]["POSTGRES_INITDB_ARGS"].split()
    embedded = (ROOT / "onsale/engines/postgres.py").read_text()
    assert [argument for argument in asked if f'"{argument}"' not in embedded] == []
    assert "--locale=C" in asked


def test_files_that_others_are_given_exist_and_all_are_given():
    for told in COMPOSE["configs"].values():
        assert (ROOT / told["file"]).is_file()
    given = {one["source"] for service in SERVICES.values() for one in service.get("configs", ())}
    assert given == set(COMPOSE["configs"])


def test_the_world_reaches_the_proxy_alone_and_gateways_believe_nobody_else():
    published = {name for name, told in SERVICES.items() if told.get("ports") and not told.get("profiles")}
    assert published == {"proxy"}
    subnet = COMPOSE["networks"]["door"]["ipam"]["config"][0]["subnet"]
    assert SERVICES["gateway"]["environment"]["ONSALE_TRUSTED_PROXIES"].endswith(f":-{subnet}}}")
    assert {name for name, told in SERVICES.items() if "door" in told["networks"]} == {"proxy", "gateway"}


def test_every_service_secret_volume_and_network_named_is_defined():
    for service in SERVICES.values():
        assert set(service.get("depends_on", {})) <= set(SERVICES)
        assert set(service.get("secrets", ())) <= set(COMPOSE["secrets"])
        assert set(service["networks"]) <= set(COMPOSE["networks"])
        assert {volume.partition(":")[0] for volume in service.get("volumes", ())} <= set(COMPOSE["volumes"])
        for name, value in service.get("environment", {}).items():
            if name.endswith("_FILE"):
                assert value.removeprefix("/run/secrets/") in service["secrets"]


def test_gateway_and_chores_know_the_same_payment_providers():
    """Who is begun with by one is ended by the other."""
    about = re.compile(r"ONSALE_(PAYMENT|STRIPE|SIMULATED|PUBLIC)")
    told = [{name: value for name, value in SERVICES[service]["environment"].items() if about.match(name)}
            for service in ("gateway", "chores")]  # fmt: skip
    assert told[0] == told[1]
    assert {"ONSALE_PAYMENT_PROVIDER", "ONSALE_PUBLIC_URL", "ONSALE_STRIPE_KEY_FILE"} <= told[0].keys()


def test_what_is_a_secret_comes_from_a_file_and_is_made():
    """Or is left empty by what makes the secrets, for somebody to fill in."""
    makes = (ROOT / "deploy/make-secrets.sh").read_text()
    for name, told in COMPOSE["secrets"].items():
        assert told == {"file": f"deploy/secrets/{name}"}
        assert re.search(rf"^(make|put_here) {name} ", makes, re.MULTILINE), name
    for service in SERVICES.values():
        named = [name for name in service.get("environment", {}) if name.endswith(("_SECRET", "_KEY"))]
        assert set(named) <= {"ONSALE_STRIPE_PUBLISHABLE_KEY", "ONSALE_HUMAN_CHECK_SITE_KEY"}, (
            "all may see them"
        )


def test_a_provider_that_takes_no_money_starts_only_where_it_is_asked_for():
    assert SERVICES["simulated"]["profiles"] == ["simulated"]
    assert {name: told["profiles"] for name, told in SERVICES.items() if told.get("profiles")} == PROFILES
    assert SERVICES["simulated"]["ports"] == ["${ONSALE_SIMULATED_PUBLISH:-127.0.0.1:8100}:8100"]
    asked_for_by = [
        name for name, service in SERVICES.items() if "simulated" in service.get("depends_on", {})
    ]
    assert asked_for_by == []


def _with_names_filled_in(service: str, given: dict[str, str]) -> dict[str, str]:
    """A service's environment as Compose makes it of these variables, secrets as their files are named."""

    def fill(found: re.Match[str]) -> str:
        return given.get(found["name"]) or found["usual"]

    names = re.compile(r"\$\{(?P<name>[A-Z_]+):-(?P<usual>[^}]*)\}")
    told = SERVICES[service]["environment"]
    return {name.removesuffix("_FILE"): names.sub(fill, value) for name, value in told.items()}


def test_the_rehearsal_is_whole_and_its_provider_and_gateway_mean_each_other():
    told = dict(line.split("=", 1) for line in REHEARSAL.read_text().splitlines() if line[:1] != "#")
    assert told.pop("COMPOSE_PROFILES") == "simulated"
    assert set(told) <= set(re.findall(r"\$\{([A-Z_]+):-", (ROOT / "compose.yaml").read_text()))
    gateway = PaymentSettings.from_env(
        {
            **_with_names_filled_in("gateway", told),
            "ONSALE_STRIPE_KEY": "",
            "ONSALE_STRIPE_WEBHOOK_SECRET": "",
        }
    )
    assert (gateway.provider, list(gateway.known)) == ("simulated", ["simulated"])
    provider = Provider.from_env(_with_names_filled_in("simulated", told))
    assert gateway.simulated_url == f"http://simulated:{provider.port}"
    assert gateway.simulated_secret == provider.secret
    assert provider.notify_urls == ("http://gateway:8000/v1/payments/notices/simulated",)
    assert f"localhost:{provider.port}" in provider.url, "where a browser on this machine reaches it"


def test_without_anything_set_nobody_is_paid():
    told = _with_names_filled_in("gateway", {})
    for name in ("ONSALE_STRIPE_KEY", "ONSALE_STRIPE_WEBHOOK_SECRET"):
        told[name] = ""  # the files are empty until somebody fills them
    assert PaymentSettings.from_env(told).known == frozenset()


def test_an_empty_secret_is_none(tmp_path):
    (tmp_path / "empty").touch()
    ran = _entrypoint({"ONSALE_STRIPE_KEY_FILE": str(tmp_path / "empty")}, "env")
    told = dict(line.split("=", 1) for line in ran.stdout.splitlines())
    assert told["ONSALE_STRIPE_KEY"] == ""


def test_secrets_are_made_once_and_what_others_give_is_left_to_be_filled(tmp_path):
    (tmp_path / "make-secrets.sh").write_text((ROOT / "deploy/make-secrets.sh").read_text())
    made = []
    for _ in range(2):
        subprocess.run(["sh", tmp_path / "make-secrets.sh"], check=True, capture_output=True)
        made.append({path.name: path.read_text() for path in (tmp_path / "secrets").iterdir()})
        (tmp_path / "secrets/stripe_key").write_text("rk_test_1")
    assert set(made[0]) == set(COMPOSE["secrets"])
    empty = {name for name, secret in made[0].items() if not secret}
    assert empty == {"stripe_key", "stripe_webhook_secret", "human_check_secret", "tls_certificate"}
    assert made[1] == {**made[0], "stripe_key": "rk_test_1"}
    Webhook(made[0]["simulated_secret"])


def test_who_waits_for_a_health_check_waits_for_one_that_is_there():
    for service in SERVICES.values():
        for name, wait in service.get("depends_on", {}).items():
            if wait["condition"] == "service_healthy":
                assert "healthcheck" in SERVICES[name]


def test_no_secret_is_written_down():
    text = (ROOT / "compose.yaml").read_text()
    assert not re.search(r"://[^/\s]+:[^/\s]+@", text)
    assert "/secrets/" in (ROOT / "deploy/.gitignore").read_text().split()


def test_the_engines_keep_what_was_accepted():
    valkey = " ".join(SERVICES["valkey"]["command"])
    assert "--appendonly yes --appendfsync always --maxmemory-policy noeviction" in valkey
    postgres = " ".join(SERVICES["postgres"]["command"])
    assert "fsync=off" not in postgres
    assert "synchronous_commit" not in postgres
    assert COMPOSE["networks"]["engines"] == {"internal": True}
    assert "ports" not in SERVICES["valkey"]
    assert "ports" not in SERVICES["postgres"]


def _entrypoint(environment: dict[str, str], *command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["sh", ENTRYPOINT, *command],
        env={"PATH": os.environ["PATH"], **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def test_secrets_come_from_files_as_they_are(tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("a b$(c)'\"`d\\n%s\n")
    environment = {"ONSALE_TOKEN_SECRET_FILE": str(secret), "ONSALE_OPERATOR_KEY": "given"}
    ran = _entrypoint(environment, "env")
    told = dict(line.split("=", 1) for line in ran.stdout.splitlines())
    assert told["ONSALE_TOKEN_SECRET"] == "a b$(c)'\"`d\\n%s"
    assert told["ONSALE_OPERATOR_KEY"] == "given"
    assert "ONSALE_TOKEN_SECRET_FILE" not in told


def test_a_secret_that_is_not_there_stops_the_start(tmp_path):
    ran = _entrypoint({"DATABASE_URL_FILE": str(tmp_path / "none")}, "env")
    assert ran.returncode == 1
    assert "make-secrets.sh" in ran.stderr
    assert ran.stdout == ""


def test_a_command_keeps_its_arguments_and_its_exit_code():
    ran = _entrypoint({}, "sh", "-c", 'printf "%s|" "$@"; exit 7', "_", "a b", "", "*")
    assert (ran.returncode, ran.stdout) == (7, "a b||*|")


def test_a_command_in_a_running_container_knows_the_secrets_too(tmp_path):
    """`docker compose exec` passes no entrypoint; the command that the image has for it does."""
    (tmp_path / "python").write_text('#!/bin/sh\necho "$DATABASE_URL" "$@"\n')
    (tmp_path / "python").chmod(0o755)
    (tmp_path / "url").write_text("postgresql://secret")
    path = f"{tmp_path}:{os.environ['PATH']}"
    ran = subprocess.run(
        ["sh", ROOT / "deploy/onsale", "event", "show", "a b"],
        env={"PATH": path, "DATABASE_URL_FILE": str(tmp_path / "url")},
        capture_output=True,
        text=True,
        check=True,
    )
    assert ran.stdout == "postgresql://secret -m onsale event show a b\n"
    assert os.access(ROOT / "deploy/onsale", os.X_OK)
    assert "PATH=/app/bin:" in DOCKERFILE


def test_pages_tell_of_no_command_in_a_running_container_but_that_one():
    pages = [*(ROOT / "docs").rglob("*.md"), *(ROOT / "deploy").glob("*.md"), ROOT / "README.md"]
    told = [found for page in pages for found in re.findall(r"compose exec \S+ (\S+)", page.read_text())]
    assert set(told) == {"onsale"}
