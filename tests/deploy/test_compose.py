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

ROOT = Path(__file__).resolve().parents[2]
COMPOSE = yaml.safe_load((ROOT / "compose.yaml").read_text())
SERVICES = COMPOSE["services"]
OURS = sorted(name for name, service in SERVICES.items() if service.get("build"))
DOCKERFILE = (ROOT / "Dockerfile").read_text()
ENTRYPOINT = ROOT / "deploy/entrypoint.sh"
SECRETS = re.search(r"for name in ([A-Z_ ]+);", ENTRYPOINT.read_text())


def _settings_read() -> set[str]:
    """Every environment variable that a settings module or the migration names in quotes."""
    sources = [
        "store/settings.py",
        "store/migrate.py",
        "gateway/settings.py",
        "allocator/settings.py",
        "onsale/chores/settings.py",
        "onsale/engines/data_dir.py",
    ]
    found = [re.findall(r'"((?:ONSALE_|DATABASE_|REDIS_)[A-Z_]+)"', (ROOT / source).read_text())
             for source in sources if (ROOT / source).exists()]  # fmt: skip
    return {name for names in found for name in names}


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
def test_every_variable_is_one_the_settings_read(service):
    assert SECRETS is not None
    from_files = {f"{name}_FILE": name for name in SECRETS[1].split()}
    for name in SERVICES[service]["environment"]:
        assert from_files.get(name, name) in _settings_read(), name


@pytest.mark.parametrize("service", OURS)
def test_our_containers_have_no_more_rights_than_they_need(service):
    told = SERVICES[service]
    assert told["read_only"] is True
    assert told["cap_drop"] == ["ALL"]
    assert re.search(r"^USER 10001", DOCKERFILE, re.MULTILINE)


def test_every_service_secret_volume_and_network_named_is_defined():
    for service in SERVICES.values():
        assert set(service.get("depends_on", {})) <= set(SERVICES)
        assert set(service.get("secrets", ())) <= set(COMPOSE["secrets"])
        assert set(service["networks"]) <= set(COMPOSE["networks"])
        assert {volume.partition(":")[0] for volume in service.get("volumes", ())} <= set(COMPOSE["volumes"])
        for name, value in service.get("environment", {}).items():
            if name.endswith("_FILE"):
                assert value.removeprefix("/run/secrets/") in service["secrets"]


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
