"""A short sale in which much goes wrong: its logs are objects, and name nobody and no secret."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator

import psycopg
import pytest

from onsale.processes import Stack, throwaway_stack
from store import events
from store.words import EventState
from tests.deploy.selling import Buyer, call, make_sale, until

FIELDS = {"ts", "level", "logger", "process", "pid", "message", "event", "request", "error", "trace"}
MAIL = "zoe.quimby@example.org"
NAMES = ("zoe-quimby-7731", "max-vandal-4242")
PARTS = ("gateway-1", "allocator-1", "allocator-2", "provider-1", "chores-1")


@pytest.fixture(scope="module")
def stack() -> Iterator[Stack]:
    """With engines of its own: one of them is killed."""
    with throwaway_stack(
        gateways=1, allocators=2, payments=True, chores=True, restart_dead=True,
        env={
            "ONSALE_LOG": "json", "ONSALE_MAIL_FROM": "box@x.test",
            "ONSALE_SMTP_URL": "smtp://me:mail-pass-99@127.0.0.1:1",
        },
    ) as running:  # fmt: skip
        yield running


@pytest.fixture(scope="module")
def said(stack: Stack) -> dict[str, str]:
    """What each process wrote, once a sale with all its trouble is over."""
    make_sale(stack.urls.database_url, "gala")
    zoe, max_ = [Buyer(stack.base_url, stack.token_secret, name, "gala") for name in NAMES]
    zoe.join(MAIL)
    max_.join()
    with psycopg.connect(stack.urls.database_url, autocommit=True) as conn:
        events.set_state(conn, "gala", EventState.OPEN)
        zoe.begin()
        max_.begin()
        zoe.pay(zoe.hold(), MAIL)
        _go_wrong(stack, max_)
        stack.valkey.kill()
        until(lambda: _logged(stack, "gateway-1", "fan-out lost"), "the gateway says what it lost")
        stack.valkey.start()
        until(lambda: max_.ask("after").status == 200, "it goes on")
        until(lambda: _logged(stack, "chores-1", "mail"), "a mail could not be sent")
    for process in stack.processes.values():
        process.stop()
    return {name: (stack.engines.data_dir.logs / f"{name}.log").read_text() for name in PARTS}


def _logged(stack: Stack, name: str, words: str) -> bool:
    return words in (stack.engines.data_dir.logs / f"{name}.log").read_text()


def _go_wrong(stack: Stack, buyer: Buyer) -> None:
    """What people and programs send that is not right, and an allocator that is killed."""
    base = stack.base_url
    call("GET", f"{base}/v1/operator/events", Authorization="Bearer wrong-operator-key-0123456789")
    call("POST", f"{base}/v1/payments/notices/simulated", {"for": MAIL}, webhook_id="x")
    call(
        "POST",
        f"{base}/v1/events/gala/requests",
        {},
        Authorization=f"Bearer {buyer.token}x",
        Idempotency_Key="r",
    )
    call(
        "POST",
        f"{base}/v1/events/gala/requests",
        ["no"],
        Authorization=f"Bearer {buyer.token}",
        Idempotency_Key="r",
    )
    call("GET", f"{base}/v1/events/gala/room/stream?access_token={buyer.token[:-2]}")
    stack.kill("allocator-1", signal.SIGKILL)
    assert buyer.ask("r2").status == 200


def test_every_line_is_an_object_with_known_fields(said):
    for name, text in said.items():
        for line in text.splitlines():
            told = json.loads(line)
            assert set(told) <= FIELDS, line
            assert {"ts", "level", "logger", "process", "message"} <= set(told), line
            assert told["process"] == name


def test_lines_about_the_event_name_it(said):
    told = [json.loads(line) for line in said["allocator-2"].splitlines()]
    owner = [one for one in told if "owner since" in one["message"]]
    assert owner
    assert all(one["event"] == "gala" for one in owner)


def test_nobody_and_no_secret_is_named(said, stack):
    whole = "\n".join(said.values())
    assert len(whole) > 1_000, "there was something to tell"
    for name in NAMES:
        assert name not in whole
    password = stack.urls.database_url.split(":")[2].split("@")[0]
    secrets = {
        "mail address": "quimby", "mail server": "mail-pass-99", "operator key": stack.operator_key,
        "tried key": "wrong-operator-key", "token secret": stack.token_secret, "room key": stack.room_key,
        "ticket key": stack.ticket_key, "provider": stack.provider_secret, "database": password,
        "token": "eyJ",
    }  # fmt: skip
    assert [what for what, secret in secrets.items() if secret in whole] == []
