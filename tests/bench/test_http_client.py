"""The raw HTTP client: answers in pieces, one request in flight, and a buyer that waits for its decision."""

from __future__ import annotations

import asyncio
import json

import pytest

from bench.generator import generator, named_seat
from bench.http_client import NotHttp, open_http, parse_response
from bench.orders import Mode

DECISION = {"type": "decision", "arrival": "1-1", "outcome": "taken", "result": {"taken": ["s1"]}}


def test_an_answer_is_read_when_it_is_whole():
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"
    for end in range(len(answer)):
        assert parse_response(answer[:end]) is None
    assert parse_response(answer + b"HTTP/1.1") == (200, b"hello", b"HTTP/1.1", True)


def test_chunks_are_put_together():
    answer = (
        b"HTTP/1.1 202 Accepted\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\n"
    )
    assert parse_response(answer[:-1]) is None
    assert parse_response(answer) == (202, b"abcde", b"", True)


def test_a_server_may_close_and_an_answer_may_have_no_body():
    assert parse_response(b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n") == (204, b"", b"", False)


def test_what_is_no_http_is_refused():
    with pytest.raises(NotHttp, match="no HTTP"):
        parse_response(b"SSH-2.0-x\r\n\r\n")
    with pytest.raises(NotHttp, match="no end"):
        parse_response(b"x" * 20_000)
    with pytest.raises(NotHttp, match="how long"):
        parse_response(b"HTTP/1.1 200 OK\r\n\r\n")


class Server:
    """Answers each request by what `reply` gives for its head and body."""

    def __init__(self, reply):
        self.reply = reply
        self.heads = []
        self.serving = set()

    async def __aenter__(self):
        self.server = await asyncio.start_server(self.serve, "127.0.0.1", 0)
        self.port = self.server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_):
        self.server.close()
        await asyncio.gather(*self.serving)
        await self.server.wait_closed()

    async def serve(self, reader, writer):
        self.serving.add(asyncio.current_task())
        try:
            while head := (await reader.readuntil(b"\r\n\r\n")).decode():
                fields = dict(line.split(": ", 1) for line in head.split("\r\n")[1:-2])
                body = await reader.readexactly(int(fields.get("Content-Length", 0)))
                self.heads.append(head)
                status, answer = self.reply(head, fields, body)
                writer.write(b"HTTP/1.1 %d X\r\ncontent-length: %d\r\n\r\n%s" % (status, len(answer), answer))
        except asyncio.IncompleteReadError:
            writer.close()
            await writer.wait_closed()


def test_requests_wait_their_turn_and_are_answered_in_order():
    async def ask():
        answered, done = [], asyncio.Event()

        def on_response(status, body):
            answered.append((status, body))
            if len(answered) == 3:
                done.set()

        async with Server(lambda head, fields, body: (200, body)) as server:
            connection = await open_http("127.0.0.1", server.port, on_response, lambda error: None)
            for text in (b"one", b"two", b"three"):
                connection.send(b"POST / HTTP/1.1\r\nContent-Length: %d\r\n\r\n%s" % (len(text), text))
            await done.wait()
            connection.close()
        return answered

    assert asyncio.run(ask()) == [(200, b"one"), (200, b"two"), (200, b"three")]


def decide(fields):
    return json.dumps({**DECISION, "id": fields["Idempotency-Key"]}).encode()


def buyers_of(reply, **options):
    async def go():
        async with (
            Server(reply) as server,
            generator(
                f"http://127.0.0.1:{server.port}",
                "gala",
                [("ann", "t1"), ("bob", "t2")],
                [named_seat("s1")],
                Mode.STAMPEDE,
                http=True,
                **options,
            ) as clients,
        ):
            return await clients.go(), server.heads

    return asyncio.run(go())


def test_a_buyer_posts_and_takes_the_decision_out_of_the_answer():
    done, heads = buyers_of(lambda head, fields, body: (200, decide(fields)), requests_each=3)
    assert (done.sent, done.decided, done.unanswered) == (6, 6, 0)
    assert done.outcomes == {"taken": 6}
    assert all("Prefer: wait=" in head for head in heads)
    assert len({head for head in heads if "Bearer t1" in head}) == 3, "each request has a key of its own"
    ask = done.seen[0].asks[0]
    assert json.loads(ask.decisions[0][1])["id"] == ask.request_id


def test_a_buyer_who_is_only_accepted_asks_until_it_is_decided():
    keys = []

    def reply(head, fields, body):
        if head.startswith("POST"):
            keys.append(fields["Idempotency-Key"])
            return 202, json.dumps({"id": keys[-1], "arrival": "1-1"}).encode()
        key = head.split("/requests/")[1].split("?")[0]
        if head in asked_once:
            return 200, json.dumps({**DECISION, "id": key}).encode()
        asked_once.add(head)
        return 202, json.dumps({"id": key, "arrival": "1-1", "state": "undecided"}).encode()

    asked_once: set[str] = set()
    done, _ = buyers_of(reply)
    assert (done.decided, done.unanswered) == (2, 0)
    assert [ask.accepted[0][1] for client in done.seen for ask in client.asks] == ["1-1", "1-1"]


def test_a_refusal_at_the_gate_answers_without_a_decision():
    done, _ = buyers_of(lambda head, fields, body: (409, b'{"code":"not_queued","id":"x"}'))
    assert (done.decided, done.not_queued, done.unanswered) == (0, 2, 0)
