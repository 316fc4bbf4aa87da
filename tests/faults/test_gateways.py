"""Gateways are killed with requests in flight, asked the same at once, and not listened to."""

from __future__ import annotations

import contextlib
import json
import re
import socket
import urllib.error
import urllib.request
from collections.abc import Iterator

import msgspec
import psutil
import pytest

from notifier.hub import SLOW
from store.wire import arrival_order
from tests.faults.clients import Desk
from tests.faults.stage import Sale, Stage

pytestmark = pytest.mark.faults


def test_who_was_at_a_killed_gateway_asks_at_the_other_one_and_is_decided_once(stage: Stage, sale: Sale):
    crowd = sale.desk.crowd(12)
    there = [sale.desk.buyer(f"b{number}", 0) for number in range(8)]
    crowd.wait(40)
    stage.allocators_without_stream()
    for buyer in there:
        buyer.ask("r1", sale.seats[30])
    arrivals = [buyer.accepted("r1") for buyer in there]
    stage.kill("gateway-1")
    sale.desk.wait(lambda: all(len(b.asks["r1"].accepted) > 1 for b in there), "they asked again elsewhere")
    stage.heal()
    first = arrivals.index(min(arrivals, key=arrival_order))
    outcomes = [buyer.decision("r1").outcome for buyer in there]
    assert outcomes == ["held" if number == first else "taken" for number in range(len(there))]
    assert [buyer.decision("r1").arrival for buyer in there] == arrivals
    crowd.wait(40)
    sale.check()
    assert all(len(sale.key_rows(buyer.name, "r1")) == 1 for buyer in there)


def test_one_key_at_two_gateways_at_once_has_one_decision(stage: Stage, sale: Sale):
    here, there = sale.desk.buyer("ann", 0), sale.desk.buyer("ann", 1)
    stage.allocators_without_stream()
    for socket_of_ann in (here, there):
        socket_of_ann.ask("same", sale.seats[0])
        socket_of_ann.accepted("same")
    here.ask("other", sale.seats[1])
    here.accepted("other")
    there.ask("other", sale.seats[2])
    there.accepted("other")
    stage.heal()
    assert here.decision("same") == there.decision("same")
    assert (here.decision("other").outcome, there.decision("other").outcome) == ("held", "conflict")
    here.ask("later", sale.seats[3])
    assert here.decision("later").outcome == "held"
    there.ask("later", sale.seats[4])
    assert there.decision("later").outcome == "conflict"
    assert posted(sale, 1, "other", sale.seats[2]) == (422, "key_reused")
    assert posted(sale, 1, "other", sale.seats[1]) == (202, here.decision("other").arrival)
    sale.check()
    assert sale.key_rows("ann", "same") == ["held"]
    assert sorted(sale.key_rows("ann", "other")) == ["conflict", "held"]


def posted(sale: Sale, gateway: int, key: str, seat: str) -> tuple[int, str]:
    """(status, arrival or code) of the same request over HTTP, of the buyer ann."""
    request = urllib.request.Request(
        f"{sale.stage.stack.base_urls[gateway]}/v1/events/{sale.event.slug}/requests",
        json.dumps({"seats": [seat]}).encode(),
        {"Authorization": f"Bearer {sale.desk.token('ann')}", "Idempotency-Key": key},
    )
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return answer.status, json.load(answer)["arrival"]
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.load(error)["code"]


MEGABYTE = 1 << 20


def test_a_client_that_never_reads_is_closed_and_nobody_else_notices(stage: Stage, sale: Sale):
    crowd = sale.desk.crowd(12)
    crowd.wait(20)
    gateway = psutil.Process(stage.stack.pid("gateway-1"))
    rss_before = gateway.memory_info().rss
    closed_before = stage.metric(0, "onsale_gateway_slow_closed_total")
    asking = frame({"type": "x" * 15_000})  # the answer repeats what is wrong
    answers_heard = sale.desk.decisions
    with deaf_socket(stage.stack.base_urls[0], sale.desk) as deaf:
        asked = 0
        while stage.metric(0, "onsale_gateway_slow_closed_total") == closed_before:
            assert asked < 3_000, "it was told forty megabytes and is still there"
            deaf.sendall(asking * 20)
            asked += 20
        assert close_code(deaf) == SLOW
    assert gateway.memory_info().rss - rss_before < 32 * MEGABYTE
    assert sale.desk.decisions > answers_heard
    crowd.wait(20)
    assert not any(buyer.reconnects for buyer in crowd.buyers)
    sale.check()


@contextlib.contextmanager
def deaf_socket(base_url: str, desk: Desk) -> Iterator[socket.socket]:
    """A websocket that was greeted, with hardly any room for what it will be sent."""
    host, _, port = base_url.removeprefix("http://").partition(":")
    with socket.socket() as made:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        made.settimeout(20)
        made.connect((host, int(port)))
        made.sendall(
            f"GET /v1/socket HTTP/1.1\r\nHost: {host}:{port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n".encode()
        )
        heard_until(made, b"\r\n\r\n")
        made.sendall(frame({"type": "hello", "event": desk.event, "token": desk.token("deaf")}))
        heard_until(made, b'"welcome"')
        yield made


def heard_until(reading: socket.socket, word: bytes) -> None:
    said = b""
    while word not in said:
        data = reading.recv(4096)
        assert data, f"the gateway hung up after {said!r}"
        said += data


def frame(content: object) -> bytes:
    """A client's text frame; its mask is zero, so the text stays as it is."""
    text = msgspec.json.encode(content)
    length = len(text)
    size = bytes([0x80 | length]) if length < 126 else b"\xfe" + length.to_bytes(2, "big")
    return b"\x81" + size + bytes(4) + text


def close_code(deaf: socket.socket) -> int:
    """Reads what it was sent up to the close frame; its code."""
    last = b""
    while (found := re.search(rb"\x88.(..)reading too slowly", last, re.DOTALL)) is None:
        data = deaf.recv(65536)
        assert data, "the gateway hung up without a word"
        last = (last + data)[-200:]
    return int.from_bytes(found.group(1), "big")
