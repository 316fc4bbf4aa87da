"""A proxy before a gateway that refuses some paths, as those do that know no websockets or streams."""

from __future__ import annotations

import asyncio
from collections import Counter
from types import TracebackType
from typing import Self

HEAD_BYTES_MAX = 32 * 1024
FORBIDDEN = b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


class Front:
    """`async with Front(port, "/v1/socket") as front`: connect to `front.port`. One request a connection."""

    def __init__(self, behind: int, *refused: str) -> None:
        self._behind = behind
        self._refused = refused
        self.refused: Counter[str] = Counter()
        self.passed: Counter[str] = Counter()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, limit=HEAD_BYTES_MAX)
        self.port: int = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            path = head.split(b" ", 2)[1].decode().partition("?")[0]
            ending = next((end for end in self._refused if path.endswith(end)), None)
            (self.passed if ending is None else self.refused)[path] += 1
            if ending is not None:
                writer.write(FORBIDDEN)
                return
            there, to = await asyncio.open_connection("127.0.0.1", self._behind)
            to.write(head.replace(b"onnection: keep-alive", b"onnection: close"))
            ways = [asyncio.create_task(_pass_on(*both)) for both in ((reader, to), (there, writer))]
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
            for way in ways:
                way.cancel()
            to.close()
        except (OSError, asyncio.IncompleteReadError):
            return
        finally:
            writer.close()


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while some := await reader.read(64 * 1024):
        writer.write(some)
        await writer.drain()
