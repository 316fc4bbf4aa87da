"""The gateway keeps to its own description, whatever the description allows and whatever it does not.

schemathesis makes calls from `/openapi.json`, right ones and wrong ones, and judges the answers with all
of its checks: no 5xx, no status, header, content type or body that is not described, wrong calls refused,
wrong methods with 405 and `Allow`, and nothing that asks for a key answered without it. What it is run with
is in `schemathesis.toml`.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from gateway import callers
from gateway.pages import demo
from gateway.settings import PaymentSettings
from onsale.engines.data_dir import REPOSITORY
from tests.gateway.rig import EVENT, token
from tests.model.clients import Http, Operator
from tests.model.house import VENUE, house
from tests.model.stack import OPERATOR_KEY, stack
from tests.profiles import LONG

CONFIG = Path(__file__).with_name("schemathesis.toml")
EXAMPLES = 300 if LONG else 5
"""Of each call made up at random, and of histories of calls that follow from each other."""
OPERATORS = "^/v1/operator"


@pytest.fixture
def no_real_stampede(monkeypatch):
    """A stampede is a program of its own; here it is one that ends at once."""
    monkeypatch.setattr(demo, "command", lambda wish, url: [sys.executable, "-c", ""])


@pytest.fixture
def many_tries(monkeypatch):
    """Each call is also made with a wrong key, from one address."""
    monkeypatch.setattr(callers, "TRIES_PER_ADDRESS_MINUTE", 1_000_000)
    monkeypatch.setattr(callers, "COOKIES_PER_ADDRESS_MINUTE", 1_000_000)


@pytest.fixture
def port(engine_urls, no_real_stampede, many_tries):
    """The port of a gateway in a demo, with one open event."""
    simulated = PaymentSettings("simulated", "http://shop.example", "http://127.0.0.1:9", "whsec_c2VjcmV0")
    with stack(engine_urls, demo=True, payments=simulated) as both:
        both.save_venue(VENUE, house())
        with contextlib.closing(Http(both.port)) as http:
            wish = {"slug": EVENT, "venue": VENUE, "open": True, "payment": "required"}
            made = Operator(http).ask("POST", "", wish)
        assert made[0] == 201
        both.allocate(EVENT)
        yield both.port


@pytest.mark.parametrize(
    ("phase", "calls"),
    [
        ("Coverage", ["--include-path-regex", OPERATORS]),
        ("Coverage", ["--exclude-path-regex", OPERATORS]),
        ("Fuzzing", []),
        ("Stateful", []),
    ],
    ids=["the edges of operators' calls", "the edges of all others", "made up", "following from each other"],
)
def test_every_call_is_answered_as_it_is_described(port, phase, calls):
    """The edges of every parameter and body, one after the other; calls made up at random; and calls that
    follow from each other: what one made or took away is there, or gone, for the next."""
    keys = {"BUYER_TOKEN": token("ann"), "OPERATOR_KEY": OPERATOR_KEY}
    program = Path(sys.executable).with_name("schemathesis")
    description = f"http://127.0.0.1:{port}/openapi.json"
    done = subprocess.run(
        [
            *(program, "--config-file", CONFIG, "run", description),
            *("--max-examples", str(EXAMPLES), "--phases", phase.lower(), *calls),
        ],
        env={**os.environ, **keys, "PYTHONPATH": str(REPOSITORY)},
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"✅ {phase}" in done.stdout, done.stdout
