"""One webhook: what it is signed with, where it may go, and how long the other side may take."""

from __future__ import annotations

import asyncio
import socket
from typing import Any

import pytest
from aiohttp import web
from aiohttp.abc import AbstractResolver
from standardwebhooks import Webhook, WebhookVerificationError

from notifier import outgoing
from notifier.outgoing import Message, Outgoing, signed
from store.subscribers import edit
from store.subscribers.lanes import Endpoint
from tests.gateway.rig import scenario
from tests.notifier.sink import WHO, one, relaying, sink, subscribe, tell

SECRET, OTHER = edit.new_secret(), edit.new_secret()
MESSAGE = Message("msg_1", b'{"type":"webhook.test","data":{}}')
PUBLIC = "93.184.215.14"


class Names(AbstractResolver):
    """Names have the addresses of the next list; the last stays."""

    def __init__(self, *lists: list[str]) -> None:
        self.lists = list(lists)
        self.asked = 0

    async def resolve(self, host: str, port: int = 0, family: Any = socket.AF_INET) -> Any:
        self.asked += 1
        addresses = self.lists.pop(0) if len(self.lists) > 1 else self.lists[0]
        where = {"hostname": host, "port": port, "proto": 0, "flags": socket.AI_NUMERICHOST}
        return [
            where | {"host": one, "family": socket.AF_INET6 if ":" in one else socket.AF_INET}
            for one in addresses
        ]

    async def close(self) -> None:
        """Nothing to close."""


async def sent(url: str, **how: Any) -> outgoing.Answer:
    async with Outgoing(**({"allow_private": False} | how)) as sending:
        return await sending.send(Endpoint(1, url, (SECRET,)), MESSAGE)


def test_a_signature_is_that_of_the_specifications_example():
    message = Message("msg_p5jXN8AQM9LWM0D4loKWxJek", b'{"test": 2432232314}')
    headers = signed(message, ["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"], 1614265330.7)
    assert headers["webhook-id"] == message.id
    assert headers["webhook-timestamp"] == "1614265330"
    assert headers["webhook-signature"] == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


@scenario
async def test_the_library_verifies_what_is_sent_and_nothing_else():
    async with sink() as there:
        answer = await sent(there.url, allow_private=True)
    [got] = there.received
    assert (answer.delivered, answer.status, answer.error) == (True, 204, None)
    assert Webhook(SECRET).verify(got.body, got.headers) == got.json
    assert got.headers["content-type"] == "application/json"
    for body, headers in ((got.body + b" ", got.headers), (got.body, got.headers | {"webhook-id": "msg_2"})):
        with pytest.raises(WebhookVerificationError):
            Webhook(SECRET).verify(body, headers)
    with pytest.raises(WebhookVerificationError):
        Webhook(OTHER).verify(got.body, got.headers)


@scenario
@pytest.mark.parametrize("over", [False, True])
async def test_after_a_rotation_both_secrets_verify_until_the_old_one_ends(conn, database_url, event, over):
    async with sink() as there:
        number, old = subscribe(conn, there.url)
        new = edit.rotate(conn, number, WHO, overlap_hours=1).secret
        if over:
            conn.execute("UPDATE subscriber SET previous_until = clock_timestamp()")
        tell(conn, event, 1)
        async with relaying(database_url):
            await there.has(1)
    [got] = there.received
    Webhook(new).verify(got.body, got.headers)
    if over:
        with pytest.raises(WebhookVerificationError):
            Webhook(old).verify(got.body, got.headers)
    else:
        Webhook(old).verify(got.body, got.headers)
    assert old != new == one(conn, "SELECT secret FROM subscriber")


@scenario
@pytest.mark.parametrize(
    "host",
    ["127.0.0.1", "127.1", "2130706433", "0x7f000001", "0177.0.0.1", "0", "localhost", "localhost.",
     "[::1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::]", "0.0.0.0"],
)  # fmt: skip
async def test_no_way_to_write_this_machines_address_leads_to_it(host):
    async with sink() as there:
        port = there.url.rpartition(":")[2].partition("/")[0]
        answer = await sent(f"http://{host}:{port}/hook")
    assert (there.received, answer.status) == ([], None)
    assert answer.error


@scenario
@pytest.mark.parametrize(
    "addresses", [["127.0.0.1"], [PUBLIC, "127.0.0.1"], ["127.0.0.1", PUBLIC], ["169.254.169.254"], ["::1"]]
)
async def test_a_name_with_any_address_that_is_not_public_is_refused_whole(addresses):
    async with sink() as there:
        url = there.url.replace("127.0.0.1", "subscriber.example")
        answer = await sent(url, resolver=Names(addresses))
    assert (there.received, answer.status) == ([], None)
    assert answer.error is not None
    assert "subscriber.example has the address" in answer.error


@scenario
async def test_a_name_that_changes_between_the_look_and_the_connection_leads_nowhere_else(monkeypatch):
    """A name is asked for once for a connection; whatever a socket is made for is looked at itself."""
    connected_to = []

    def refuse(_, info):
        connected_to.append(info[4][0])
        raise OSError("nobody there")

    async with sink() as there:
        url = there.url.replace("127.0.0.1", "subscriber.example")
        with monkeypatch.context() as patched:
            patched.setattr(Outgoing, "_socket", refuse)
            names = Names([PUBLIC], ["127.0.0.1"])
            await sent(url, resolver=names)
        assert (names.asked, connected_to) == (1, [PUBLIC])
        with monkeypatch.context() as patched:
            patched.setattr(
                outgoing._Checked, "resolve", lambda self, *a, **b: self._resolver.resolve(*a, **b)
            )
            answer = await sent(url, resolver=Names(["127.0.0.1"]))
    assert (there.received, answer.status) == ([], None)
    assert answer.error is not None
    assert "127.0.0.1 is not an address of the public internet" in answer.error


@scenario
async def test_redirects_are_answers_and_are_not_followed():
    async with sink() as there:
        there.answer = lambda _: web.Response(status=302, headers={"Location": f"{there.url}/elsewhere"})
        answer = await sent(there.url, allow_private=True)
    assert (len(there.received), answer.status, answer.delivered) == (1, 302, False)


@scenario
@pytest.mark.parametrize(("status", "delivered"), [(199 + 1, True), (299, True), (300, False), (404, False)])
async def test_delivered_is_what_is_answered_with_2xx(status, delivered):
    async with sink() as there:
        there.answer = lambda _: status
        assert (await sent(there.url, allow_private=True)).delivered is delivered


@scenario
async def test_who_does_not_answer_in_time_is_let_go(monkeypatch):
    monkeypatch.setattr(outgoing, "SECONDS_MAX", 0.1)
    release = asyncio.Event()

    async def never(_):
        await release.wait()
        return 204

    async with sink() as there:
        there.answer = never
        answer = await asyncio.wait_for(sent(there.url, allow_private=True), 5)
        release.set()
    assert (answer.status, answer.error) == (None, "no answer within 0.1 s")


@scenario
async def test_of_an_endless_answer_only_so_much_is_read():
    """Whoever reads on would never come to an end."""
    written = 0

    async def endless(reader, writer):
        nonlocal written
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n")
        try:
            while True:
                writer.write(b"x" * 16384)
                written += 16384
                await writer.drain()
        except ConnectionError:
            writer.close()

    server = await asyncio.start_server(endless, "127.0.0.1", 0)
    async with server:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
        answer = await sent(url, allow_private=True)
    assert answer.delivered
    assert written < 100 * outgoing.BODY_BYTES_MAX


@scenario
@pytest.mark.parametrize(
    ("header", "seconds"), [("120", 120.0), ("", 0.0), ("soon", 0.0), ("-1", 0.0), ("9" * 30, 0.0)]
)
async def test_a_subscriber_may_say_when_to_come_back(header, seconds):
    async with sink() as there:
        there.answer = lambda _: web.Response(status=429, headers={"Retry-After": header})
        assert (await sent(there.url, allow_private=True)).asked_seconds == seconds


@scenario
@pytest.mark.parametrize("said", [b"\x00\x01\x02\r\n\r\n", b"HTTP/1.1 200 OK\r\nX: " + b"y" * 100_000, b""])
async def test_nonsense_is_a_failure_in_one_short_line(said):
    async def talk(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        writer.write(said)
        writer.close()

    server = await asyncio.start_server(talk, "127.0.0.1", 0)
    async with server:
        answer = await sent(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/", allow_private=True)
    assert answer.status is None
    assert answer.error is not None
    assert answer.error.isprintable()
    assert len(answer.error) <= outgoing.ERROR_LENGTH_MAX
