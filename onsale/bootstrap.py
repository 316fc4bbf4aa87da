"""Makes `.venv` what the lock says; standard library only, because nothing else is there yet.

Safe to interrupt and to run twice at once: a stamp is written last and taken away first, and a file lock
lets one installation through at a time. The stamp names the lock's content and the Python that installed it.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import os
import platform
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

RUNTIME_LOCK = "requirements.lock"
TEST_LOCK = "requirements-test.lock"
FREE_MIB_MIN = 500


class Refused(Exception):
    """Nothing can be installed here; `problem` says why and `remedy` what to do."""

    def __init__(self, problem: str, remedy: str) -> None:
        super().__init__(f"{problem} {remedy}")
        self.problem = problem
        self.remedy = remedy


def installed_python(root: str | Path, *, tests: bool = False) -> str:
    """The path of a Python that has everything the lock names, installing it if need be. Raises Refused."""
    root = Path(root)
    home = root / ".venv"
    lock = root / (TEST_LOCK if tests else RUNTIME_LOCK)
    if not _is_installed(home, lock):
        require_platform()
        with _one_at_a_time(root):
            if not _is_installed(home, lock):  # another run may have done it while this one waited
                _install(home, lock)
    return str(home / "bin" / "python")


def require_platform() -> None:
    """Raises Refused where the wheels of the engines cannot run or no virtual environment can be made."""
    if os.name != "posix":
        raise Refused("onsale runs on Linux and macOS.", "On Windows, use WSL.")
    if _is_musl():
        raise Refused(
            "This system's C library is musl (Alpine?), and the engines' wheels are built for glibc.",
            "Use a Debian, Ubuntu or Fedora machine or image, for example python:3.12-slim.",
        )
    missing = [name for name in ("venv", "ensurepip") if importlib.util.find_spec(name) is None]
    if missing:
        raise Refused(
            f"This Python cannot make a virtual environment: its module {missing[0]} is missing.",
            f"On Debian and Ubuntu: apt install python3-venv (or python{_python_version()}-venv).",
        )


def _is_musl() -> bool:
    return sys.platform.startswith("linux") and "musl" in (
        (sysconfig.get_config_var("HOST_GNU_TYPE") or "") + (sysconfig.get_config_var("SOABI") or "")
    )


def _python_version() -> str:
    return f"{sys.version_info.major}.{sys.version_info.minor}"


def _stamp_of(home: Path, lock: Path) -> tuple[Path, str]:
    """Where the stamp of this lock is, and what it says when the installation is the right one."""
    digest = hashlib.sha256(lock.read_bytes()).hexdigest()
    return home / f"installed-{lock.stem}", f"{digest} {sys.version} {platform.machine()} {home}"


def _is_installed(home: Path, lock: Path) -> bool:
    stamp, says = _stamp_of(home, lock)
    try:
        return stamp.read_text() == says and os.access(home / "bin" / "python", os.X_OK)
    except (FileNotFoundError, NotADirectoryError):
        return False


@contextlib.contextmanager
def _one_at_a_time(root: Path) -> Iterator[None]:
    import fcntl

    try:
        file = open(root / ".venv.lock", "w")  # noqa: SIM115 - entered below
    except OSError as error:
        raise Refused(
            f"{root} cannot be written: {error.strerror}.", "Put the repository where this user may write."
        ) from None
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            _tell("another ./run is installing; waiting for it")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _install(home: Path, lock: Path) -> None:
    stamp, says = _stamp_of(home, lock)
    _tell(f"installing what {lock.name} names into .venv (the first time takes about a minute)")
    try:
        healthy = _is_healthy(home)
        for old in home.glob("installed-*") if not healthy else [stamp]:
            old.unlink(missing_ok=True)
        if not healthy:
            import venv

            venv.EnvBuilder(clear=True, with_pip=True, symlinks=True).create(home)
        _pip_install(home, lock)
        _write_whole(stamp, says)
    except subprocess.CalledProcessError as error:
        raise Refused(
            f"The virtual environment could not be made ({error}).",
            f"Remove {home} and try again; on Debian and Ubuntu, is python3-venv installed?",
        ) from None
    except OSError as error:
        raise Refused(
            f"{home} cannot be written: {error.strerror or error}.",
            f"Free some space (about {FREE_MIB_MIN} MiB are needed), or put the repository elsewhere.",
        ) from None


def _is_healthy(home: Path) -> bool:
    """Whether there is a whole environment of this very Python to install into."""
    program = "import pip, sys; print(sys.version)"
    try:
        answer = subprocess.run(
            [home / "bin" / "python", "-I", "-c", program], capture_output=True, text=True, check=False
        )
    except OSError:
        return False
    return answer.returncode == 0 and answer.stdout.strip() == sys.version.strip()


def _pip_install(home: Path, lock: Path) -> None:
    pip = [str(home / "bin" / "python"), "-I", "-m", "pip", "--disable-pip-version-check", "--no-input"]
    options = ["install", "--quiet", "--require-hashes", "--no-deps", "--requirement", str(lock)]
    if subprocess.run([*pip, *options], check=False).returncode != 0:
        raise Refused(
            "pip could not install the packages (its own words are above).",
            "Is the network up, and does pip reach a package index (pip config, proxy)? Then run the same "
            "again: it goes on where it stopped.",
        )


def _write_whole(path: Path, text: str) -> None:
    fresh = path.with_name(path.name + ".new")
    fresh.write_text(text)
    fresh.replace(path)


def _tell(what: str) -> None:
    print(f"run: {what}", file=sys.stderr, flush=True)
