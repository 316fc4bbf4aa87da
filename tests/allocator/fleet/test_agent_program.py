"""`python -m allocator.fleet` as a program: what it cannot begin with it says in a sentence."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from onsale.engines.ports import free_port


def agent(urls, **env):
    return subprocess.run(
        [sys.executable, "-m", "allocator.fleet"],
        env=os.environ | urls.as_env() | env,
        capture_output=True,
        text=True,
    )


@pytest.mark.parametrize(
    ("env", "says"),
    [
        ({"ONSALE_SLOTS": "0"}, "A host has 1 to 64 slots"),
        ({"ONSALE_SLOTS": "10000"}, "A host has 1 to 64 slots"),
        ({"ONSALE_HOST_NAME": "no spaces"}, "cannot be a host's name"),
        ({"REDIS_URL": ""}, "REDIS_URL not set"),
        ({"DATABASE_URL": f"postgresql://nobody@127.0.0.1:{free_port()}/none"}, "Postgres does not answer"),
    ],
    ids=["no slots", "too many slots", "name", "no Redis", "no Postgres"],
)
def test_what_it_cannot_begin_with_is_said_without_a_traceback(engine_urls, env, says):
    done = agent(engine_urls, **env)
    assert done.returncode == 2
    assert says in done.stderr
    assert "Traceback" not in done.stderr
