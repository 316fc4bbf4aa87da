"""Starts and steers load generator processes (`bench/client_process.py`) from asyncio.

A process of its own, so that sockets, garbage and time of the clients are not those of whoever asks:
the stampede button of the page runs inside a gateway.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import jwt
import msgspec

from bench.orders import (
    Go,
    Mode,
    Orders,
    Progress,
    Round,
    decode_progress,
    decode_round,
    encode_go,
    encode_orders,
)
from store.errors import OnsaleError

REPOSITORY = Path(__file__).resolve().parents[1]
TOKEN_SECONDS = 6 * 3600
READY_SECONDS_MAX = 120.0
OnProgress = Callable[[Progress], Awaitable[None] | None]


class GeneratorFailed(OnsaleError):
    """The load generator gave up."""


class Generator:
    """One running process with its sockets open; `go` runs a round."""

    def __init__(self, process: asyncio.subprocess.Process, orders: Orders, on_progress: OnProgress) -> None:
        self._process = process
        self._orders = orders
        self._on_progress = on_progress

    @property
    def pid(self) -> int:
        return self._process.pid

    async def until(self, phase: str, seconds_max: float) -> Progress:
        """The next progress line of that phase; others go to the callback on the way."""
        assert self._process.stdout is not None, "the process was started with pipes"
        async with asyncio.timeout(seconds_max):
            while line := await self._process.stdout.readline():
                progress = decode_progress(line)
                heard = self._on_progress(progress)
                if heard is not None:
                    await heard
                if progress.phase == "failed":
                    raise GeneratorFailed(f"The load generator gave up: {progress.message}")
                if progress.phase == phase:
                    return progress
        raise GeneratorFailed("The load generator ended before it was done.")

    async def go(
        self, mode: Mode | None = None, *, seconds: float | None = None, rate_per_second: float | None = None
    ) -> Round:
        """One round; returns when all are answered or the time is over. What is left out stays as it was."""
        assert self._process.stdin is not None, "the process was started with pipes"
        go = Go(mode, seconds, rate_per_second)
        self._orders = go.applied_to(self._orders)
        self._process.stdin.write(encode_go(go) + b"\n")
        await self._process.stdin.drain()
        await self.until("done", self._orders.seconds + self._orders.answer_seconds_max + 60)
        path = Path(self._orders.result_path)
        return decode_round(await asyncio.to_thread(path.read_bytes))


@contextlib.asynccontextmanager
async def generator(
    url: str,
    event: str,
    buyers: list[tuple[str, str]],
    wants: list[str],
    mode: Mode,
    *,
    on_progress: OnProgress = lambda _: None,
    http: bool = False,
    seconds: float = 5.0,
    requests_each: int = 1,
    keep: bool = True,
    churn: bool = False,
    answer_seconds_max: float = 60.0,
    connect_burst: int = 200,
    connect_tries_max: int = 8,
) -> AsyncIterator[Generator]:
    """A process with all sockets open and welcome when the block begins; ended with the block.

    `url` is the server's `http://host:port`; buyers use websockets, or with `http` POST. The rest is as in
    `Orders`.
    """
    with tempfile.TemporaryDirectory(prefix="onsale-clients-") as folder:
        orders = Orders(
            url=url.rstrip("/") if http else f"ws{url.removeprefix('http').rstrip('/')}/v1/socket",
            event=event,
            buyers=buyers,
            wants=wants,
            mode=mode,
            result_path=str(Path(folder) / "round"),
            seconds=seconds,
            requests_each=requests_each,
            keep=keep,
            churn=churn,
            answer_seconds_max=answer_seconds_max,
            connect_burst=connect_burst,
            connect_tries_max=connect_tries_max,
        )
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "bench.client_process",
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            cwd=REPOSITORY,
        )
        try:
            assert process.stdin is not None, "the process was started with pipes"
            process.stdin.write(encode_orders(orders) + b"\n")
            await process.stdin.drain()
            running = Generator(process, orders, on_progress)
            await running.until("ready", READY_SECONDS_MAX)
            yield running
        finally:
            await _end(process)


async def _end(process: asyncio.subprocess.Process) -> None:
    if process.stdin is not None:
        process.stdin.close()
    try:
        async with asyncio.timeout(15):
            await process.wait()
    except TimeoutError:
        process.kill()
        await process.wait()


def mint(secret: str, count: int, prefix: str = "buyer") -> list[tuple[str, str]]:
    """`count` buyers with tokens (HS256, `sub` and `exp`) for a server whose secret is known."""
    import time

    expires_at = int(time.time()) + TOKEN_SECONDS
    names = [f"{prefix}-{number:05d}" for number in range(count)]
    return [(name, jwt.encode({"sub": name, "exp": expires_at}, secret, "HS256")) for name in names]


def named_seat(guid: str) -> str:
    """The canonical want for one named seat."""
    return msgspec.json.encode({"seats": [guid]}).decode()
