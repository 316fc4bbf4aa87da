"""Logs are one object a line where that is asked for, and say nothing of people and secrets either way."""

from __future__ import annotations

import contextvars
import json
import logging
import os
import subprocess
import sys
import threading

import psycopg
import pytest

from store import logs

MODULES = (
    "gateway", "allocator", "onsale.chores", "onsale.chores.worker", "onsale.simulated", "notifier",
    "store.migrate",
)  # fmt: skip


def logged(form, message, *arguments, **more):
    """The line that a formatter makes of a call."""
    formatter = logs.Objects("gateway-1") if form == "json" else logs.Lines(logs.TEXT)
    error = more.pop("exc_info", None)
    record = logging.LogRecord("onsale.gateway", logging.WARNING, "f", 1, message, arguments, error)
    record.__dict__.update(more)
    return formatter.format(record)


def failed(work):
    try:
        work()
    except Exception:
        return sys.exc_info()
    raise AssertionError("it fails")


def test_an_object_says_when_how_bad_who_and_what():
    line = logged("json", "%s is\n%d", "it", 7, event="gala", request="r1")
    assert "\n" not in line
    told = json.loads(line)
    assert told.pop("ts").endswith("+00:00")
    assert told.pop("pid") == os.getpid()
    assert told == {
        "level": "warning", "logger": "onsale.gateway", "process": "gateway-1", "message": "it is\n7",
        "event": "gala", "request": "r1",
    }  # fmt: skip


def test_what_a_thread_is_about_is_said_of_all_it_logs_and_of_no_other():
    told = []

    def work():
        logs.about("gala")
        told.append(json.loads(logged("json", "it")))

    thread = threading.Thread(target=contextvars.Context().run, args=(work,))
    thread.start()
    thread.join()
    assert told[0]["event"] == "gala"
    assert "event" not in json.loads(logged("json", "it"))


def test_an_exception_is_its_name_and_its_trace_in_the_same_line():
    told = json.loads(logged("json", "it", exc_info=failed(lambda: 1 / 0)))
    assert told["error"] == "ZeroDivisionError"
    assert "division by zero" in told["trace"]


@pytest.mark.parametrize("form", logs.FORMS)
@pytest.mark.parametrize(
    ("said", "secret"),
    [
        ("refused: {'ann@example.org': (550, b'no')}", "ann@example.org"),
        ("O'Hara <o'hara+x@mail.example.co.uk> bounced", "hara"),
        ("postgresql://onsale:s3cr3t@127.0.0.1:5432/onsale is away", "s3cr3t"),
        ("redis://:s3cr3t@valkey:6379", "s3cr3t"),
        ("Bearer 0123456789abcdef0123456789abcdef", "0123456789abcdef"),
        ("GET /x?access_token=abcdefghijklmnopqrst", "abcdefghijklmnopqrst"),
        ("token eyJhbGciOi.eyJzdWIiOi.c2lnbmF0dXJl", "eyJzdWIiOi"),
        ('{"secret": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"}', "MfKQ"),
        ("Invalid API Key provided: rk_live_51Abc", "51Abc"),
        ("from 8.8.4.4 no", "8.8.4.4"),
        ("from 2a00:1450:4001::200e no", "2a00:1450"),
        ("x\nDETAIL:  Key (buyer, request_id)=(ann, r1) already exists.", "ann"),
        ('x\nCONTEXT:  COPY ledger, line 5: "1 2 ann"', "ann"),
    ],
)
def test_people_and_secrets_are_taken_out(form, said, secret):
    assert secret not in logged(form, "%s", said)


@pytest.mark.parametrize(
    "said",
    [
        "gala: owner since epoch 3, batch 41",
        'connection to server at "127.0.0.1", port 5432 failed',
        'connection to server at "10.0.3.7", port 5432 failed: Connection refused',
        "2 notices of 12:30:07 were settled, fe80::1 answers",
        "a batch of 256 decided again: seats: 3 of 4",
        "the key of the request is known with other content",
    ],
)
def test_what_helps_stays(said):
    assert said in logged("text", said)


def test_a_row_that_postgres_quotes_is_not_told(database_url):
    """As a real driver raises it."""
    with psycopg.connect(database_url, autocommit=True) as conn:
        insert = "INSERT INTO tour (slug, name, seats_per_buyer_max) VALUES ('ann-of-mail', 'n', 2)"
        conn.execute(insert)
        error = failed(lambda: conn.execute(insert))
    assert "ann-of-mail" in str(error[1])
    for form in logs.FORMS:
        assert "ann-of-mail" not in logged(form, "ALERT: it failed: %s", error[1]).replace(insert, "")
        trace = logged(form, "it failed", exc_info=error)
        assert "DETAIL" not in trace
        assert "duplicate key" in trace


@pytest.mark.parametrize("module", MODULES)
def test_every_process_tells_also_why_it_cannot_start_in_the_form_it_was_asked_for(module):
    """Without any setting none of them can."""
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": os.getcwd()}
    env |= {"ONSALE_LOG": "json", "ONSALE_PROCESS": "me-1"}
    ran = subprocess.run(
        [sys.executable, "-m", module],
        env=env,
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert ran.returncode != 0
    assert ran.stdout == ""
    told = [json.loads(line) for line in ran.stderr.splitlines()]
    assert told[-1]["level"] == "critical"
    assert told[-1]["process"] == "me-1"


def test_a_form_nobody_knows_ends_the_process():
    with pytest.raises(SystemExit, match="must be text or json"):
        logs.begin("x", {"ONSALE_LOG": "xml"})
