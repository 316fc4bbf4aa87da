"""A process that has imported what takes long, and forks for each run of pytest: most runs are shorter.

`python -m tests.mutants.warm` in a copy of the repository. Reads jobs as lines of JSON, answers each with
one: `{"arguments": [...], "said": path, "seconds_max": n}` → `{"code": n}`, pytest's exit code, or
`{"code": null}` when it had to be ended. Imports nothing of onsale, so each run sees its fault.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import signal
import sys
import threading
import traceback
from typing import Any

SLOW = (
    "pytest",
    "_pytest.assertion.rewrite",
    "_pytest.junitxml",
    "alembic.command",
    "alembic.config",
    "cryptography.hazmat.primitives.asymmetric.rsa",
    "fakeredis",
    "fastapi",
    "hypothesis.strategies",
    "jwt",
    "msgspec.json",
    "psutil",
    "psycopg",
    "psycopg_pool",
    "redis.asyncio",
    "sqlalchemy.dialects.postgresql",
    "typer",
    "uvicorn.protocols.http.httptools_impl",
    "uvicorn.protocols.websockets.websockets_sansio_impl",
    "websockets.asyncio.client",
)


def main() -> None:
    for name in SLOW:
        with contextlib.suppress(ImportError):  # one that a later version moved only costs time
            importlib.import_module(name)
    gc.freeze()
    for line in sys.stdin:
        job = json.loads(line)
        print(json.dumps({"code": _run(job)}), flush=True)


def _run(job: dict[str, Any]) -> int | None:
    child = os.fork()
    if not child:
        os._exit(_pytest(job))
    ended = threading.Event()

    def end() -> None:
        ended.set()
        os.killpg(child, signal.SIGKILL)

    timer = threading.Timer(job["seconds_max"], end)
    timer.start()
    _, status = os.waitpid(child, 0)
    timer.cancel()
    timer.join()
    return None if ended.is_set() else os.waitstatus_to_exitcode(status)


def _pytest(job: dict[str, Any]) -> int:
    """In the fork: a session of its own, nothing to read, what it says in a file."""
    os.setsid()
    said = os.open(job["said"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(said, 1)
    os.dup2(said, 2)
    code = 70
    try:
        import pytest

        code = int(pytest.main(job["arguments"]))
    except BaseException:  # as a warning that became an error after the last test; its report is written
        traceback.print_exc()
        code = 1
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    main()
