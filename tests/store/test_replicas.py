"""With replicas, `accepted` waits until enough of them have the request on disk."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from store.errors import OutcomeUnknown
from store.stream.redis_stream import RedisIntake


class Replicated:
    """A client whose server has appended; `synced` replicas have it on disk."""

    def __init__(self, synced: int) -> None:
        self.synced = synced
        self.asked: list[tuple[Any, ...]] = []

    async def script_load(self, _script: str) -> str:
        return "digest"

    async def evalsha(self, _digest: str, _keys: int, _key: str, *entries: bytes) -> list[bytes]:
        return [b"5-%d" % n for n in range(len(entries))]

    async def execute_command(self, *command: Any) -> list[int]:
        self.asked.append(command)
        return [1, self.synced]


def append(client: Replicated, replicas: int) -> list[str]:
    intake = RedisIntake(client, "gig", replicas=replicas)  # type: ignore[arg-type]
    return [str(arrival) for arrival in asyncio.run(intake.append([b"one", b"two"]))]


def test_an_append_that_enough_replicas_have_on_disk_is_accepted():
    client = Replicated(2)
    assert append(client, 2) == ["5-0", "5-1"]
    assert client.asked == [("WAITAOF", 1, 2, 2000)]


def test_an_append_that_too_few_replicas_have_on_disk_is_unknown():
    with pytest.raises(OutcomeUnknown):
        append(Replicated(1), 2)


def test_without_replicas_none_is_asked():
    client = Replicated(0)
    assert append(client, 0) == ["5-0", "5-1"]
    assert client.asked == []
