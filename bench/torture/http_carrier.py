"""One device over HTTP: POST with an Idempotency-Key, then GET until the decision is there."""

from __future__ import annotations

import asyncio
import http.client
import random
import time
from collections import deque
from collections.abc import Sequence
from typing import NamedTuple
from urllib.parse import urlsplit

import msgspec

from bench.evidence import Ask, HoldAnswer, HoldOp, Leaving, Seen
from bench.torture.buyer import ASK_AGAIN_CODES, ASK_AGAIN_SECONDS, Offer, Shared
from bench.torture.offers import Offers
from bench.torture.socket_carrier import said_of

ANSWER_SECONDS_MAX = 12.0
WAIT_MS = 2_000


class Reply(NamedTuple):
    """`status` 0: no reply came."""

    status: int
    body: bytes


class Body(msgspec.Struct):
    """What matters of any JSON answer."""

    code: str = ""
    arrival: str | None = None
    state: str = ""
    expires_at: int = 0
    seats: list[str] | None = None
    areas: dict[str, int] | None = None


_decode = msgspec.json.Decoder(Body).decode


class HttpCarrier:
    """See `Carrier`."""

    def __init__(
        self,
        seen: Seen,
        token: str,
        event: str,
        urls: Sequence[str],
        chance: random.Random,
        shared: Shared,
    ) -> None:
        self._offers = Offers(seen)
        self._token = token
        self._path = f"/v1/events/{event}"
        self._hosts = [urlsplit(url).netloc for url in urls]
        self._chance = chance
        self._shared = shared
        self._connection: http.client.HTTPConnection | None = None
        self._busy = asyncio.Lock()

    @property
    def offers(self) -> deque[Offer]:
        return self._offers.new

    async def ask(self, ask: Ask) -> None:
        while True:
            ask.sent_ns.append(time.monotonic_ns())
            key = {"Idempotency-Key": ask.request_id, "Content-Type": "application/json"}
            reply = await self._call("POST", f"{self._path}/requests", ask.want.encode(), key)
            now = time.monotonic_ns()
            if reply.status == 202:
                ask.accepted.append((now, _decode(reply.body).arrival or ""))
                if await self._decided(ask):
                    return
            elif self._is_final(reply, ask):
                if _code(reply) == "not_queued":
                    ask.not_queued.append((now, reply.body))
                return
            await asyncio.sleep(ASK_AGAIN_SECONDS)

    async def change(self, op: HoldOp) -> None:
        while True:
            said = said_of(op)
            head = {"Content-Type": "application/json"} if said else {}
            content = msgspec.json.encode(said) if said else b""
            reply = await self._call("POST", f"{self._path}/holds/{op.hold}/{op.op}", content, head)
            if self._is_final(reply, None):
                body = _decode(reply.body)
                op.answered_ns, op.error = time.monotonic_ns(), body.code
                op.state = body.state if reply.status == 200 else ""
                if op.state == "active":
                    op.answer = HoldAnswer(body.expires_at, body.seats, body.areas)
                return
            await asyncio.sleep(ASK_AGAIN_SECONDS)

    async def leave(self, leaving: Leaving) -> None:
        while True:
            reply = await self._call("POST", f"{self._path}/waiting/{leaving.request_id}/leave")
            if self._is_final(reply, None):
                leaving.answered_ns, leaving.error = time.monotonic_ns(), _code(reply)
                return
            await asyncio.sleep(ASK_AGAIN_SECONDS)

    async def look(self) -> None:
        while True:
            reply = await self._call("GET", f"{self._path}/waiting")
            if reply.status == 200:
                self._offers.looked(reply.body)
                return
            self._is_final(reply, None)  # counts the error
            await asyncio.sleep(ASK_AGAIN_SECONDS)

    async def close(self) -> None:
        if self._connection is not None:
            self._connection.close()

    async def _decided(self, ask: Ask) -> bool:
        """Whether the decision came; else the request is sent again."""
        while True:
            reply = await self._call("GET", f"{self._path}/requests/{ask.request_id}?wait_ms={WAIT_MS}")
            if reply.status == 200:
                ask.decisions.append((time.monotonic_ns(), reply.body))
                return True
            if reply.status == 404:
                ask.errors.append((time.monotonic_ns(), _code(reply)))
                return False
            if reply.status != 202:
                await asyncio.sleep(ASK_AGAIN_SECONDS)

    def _is_final(self, reply: Reply, ask: Ask | None) -> bool:
        if reply.status == 0:
            return False
        code = _code(reply)
        if reply.status != 200:
            self._shared.errors[f"{reply.status} {code}"] += 1
            if ask is not None:
                ask.errors.append((time.monotonic_ns(), code))
        return code not in ASK_AGAIN_CODES and reply.status not in (429, 500, 503)

    async def _call(
        self, method: str, path: str, body: bytes = b"", head: dict[str, str] | None = None
    ) -> Reply:
        async with self._busy:
            return await asyncio.to_thread(self._call_now, method, path, body, head or {})

    def _call_now(self, method: str, path: str, body: bytes, head: dict[str, str]) -> Reply:
        if self._connection is None:
            host = self._chance.choice(self._hosts)
            self._connection = http.client.HTTPConnection(host, timeout=ANSWER_SECONDS_MAX)
        try:
            self._connection.request(
                method, path, body or None, {"Authorization": f"Bearer {self._token}", **head}
            )
            answer = self._connection.getresponse()
            return Reply(answer.status, answer.read())
        except (OSError, http.client.HTTPException) as error:
            self._shared.errors[f"http: {type(error).__name__}"] += 1
            self._connection.close()
            self._connection = None
            return Reply(0, b"")


def _code(reply: Reply) -> str:
    try:
        return _decode(reply.body).code
    except msgspec.DecodeError:
        return "not JSON"
