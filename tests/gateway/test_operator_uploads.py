"""Uploads on a real connection: too much is answered at once, then closed; slow ones have time."""

from __future__ import annotations

from gateway import http_bounds
from store.launches.reading import LAUNCH_BYTES_MAX
from tests.gateway.rig import gateway, read_answer, scenario, until
from tests.gateway.test_http_guards import the_connection
from tests.gateway.test_http_protocol import connected
from tests.gateway.test_operator_venues import CSV

KEY = "an-operator-key-for-tests"


def head(path: str, length: int, key: str = KEY) -> bytes:
    lines = [
        f"POST /v1/operator/{path} HTTP/1.1",
        "Host: x",
        f"Authorization: Bearer {key}",
        f"Content-Length: {length}",
    ]
    return "\r\n".join([*lines, "", ""]).encode()


@scenario
async def test_a_gigabyte_is_refused_before_any_of_it_is_sent(engine_urls):
    async with gateway(engine_urls, operator_key=KEY) as served:
        for path in ("venues", "venues/preview", "launches"):
            async with connected(served) as (reader, writer):
                writer.write(head(path, 2**30))
                answer = await read_answer(reader)
                assert (answer.status, answer.headers["connection"]) == (413, "close")
                assert await reader.read() == b"", "and the rest of it is not read"


@scenario
async def test_a_stranger_s_upload_is_refused_unread(engine_urls):
    async with gateway(engine_urls, operator_key=KEY) as served, connected(served) as (reader, writer):
        writer.write(head("launches", LAUNCH_BYTES_MAX, "wrong"))
        assert (await read_answer(reader)).status == 401


@scenario
async def test_a_plan_that_comes_slowly_has_longer_than_other_bodies_but_not_for_ever(
    engine_urls, monkeypatch
):
    monkeypatch.setattr(http_bounds, "REQUEST_SECONDS_MAX", 0.1)
    async with gateway(engine_urls, operator_key=KEY) as served:
        async with connected(served) as (reader, writer):
            writer.write(head("venues/preview", len(CSV)) + CSV[:10])
            await until(lambda: the_connection(served)._waited >= 1)
            writer.write(CSV[10:])
            assert (await read_answer(reader)).status == 200
        async with connected(served) as (reader, writer):
            writer.write(head("venues/preview", len(CSV)) + CSV[:10])
            assert (await read_answer(reader)).status == 408
        async with connected(served) as (reader, writer):
            writer.write(head("events", 100) + b"{")
            assert (await read_answer(reader)).status == 408


@scenario
async def test_other_calls_have_the_bound_they_had(engine_urls):
    async with gateway(engine_urls, operator_key=KEY) as served, connected(served) as (reader, writer):
        writer.write(head("venues/make", 2**17) + b" " * 2**17)
        assert (await read_answer(reader)).status == 413
