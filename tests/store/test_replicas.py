"""With replicas, `accepted` waits until enough of them have the request on disk."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from redis.exceptions import NoScriptError, ReadOnlyError

from store.errors import OutcomeUnknown, StreamUnavailable
from store.stream.redis_stream import RedisIntake


class Replicated:
    """A client whose server has appended; `synced` replicas have it on disk, or `trouble` is answered."""

    def __init__(self, synced: int | Exception, *, trouble: Exception | None = None) -> None:
        self.synced = synced
        self.known = True
        """Off: the server has forgotten the script."""
        self.trouble = trouble
        self.sent: list[list[tuple[Any, ...]]] = []
        """What went over one connection together."""

    def pipeline(self, *, transaction: bool) -> Pipeline:
        assert not transaction
        self.sent.append([])
        return Pipeline(self)

    async def script_load(self, _script: str) -> str:
        self.sent.append([("load",)])
        return "digest"

    async def evalsha(self, _digest: str, _keys: int, _key: str, *entries: bytes) -> list[bytes]:
        self.sent.append([("append", len(entries))])
        return [b"5-%d" % n for n in range(len(entries))]


class Pipeline:
    def __init__(self, client: Replicated) -> None:
        self.client = client
        self.commands = client.sent[-1]

    def evalsha(self, _digest: str, _keys: int, _key: str, *entries: bytes) -> None:
        self.commands.append(("append", len(entries)))

    def execute_command(self, *command: Any) -> None:
        self.commands.append(command)

    async def execute(self, *, raise_on_error: bool) -> list[Any]:
        assert not raise_on_error
        synced = self.client.synced
        told = synced if isinstance(synced, Exception) else [1, synced]
        if not self.client.known:
            self.client.known = True
            return [NoScriptError(), told]
        if self.client.trouble is not None:
            return [self.client.trouble, told]
        return [[b"5-%d" % n for n in range(self.commands[0][1])], told]


BOTH = [("append", 2), ("WAITAOF", 1, 2, 2000)]


def append(client: Replicated, replicas: int) -> list[str]:
    intake = RedisIntake(client, "gig", replicas=replicas)  # type: ignore[arg-type]
    return [str(arrival) for arrival in asyncio.run(intake.append([b"one", b"two"]))]


def test_an_append_that_enough_replicas_have_on_disk_is_accepted():
    client = Replicated(2)
    assert append(client, 2) == ["5-0", "5-1"]
    assert client.sent == [[("load",)], BOTH], "on one connection: it answers for what that one wrote"


def test_an_append_whose_replicas_cannot_be_asked_is_unknown_not_refused():
    """It is in the stream: who hears that it never was asks anew, behind everybody."""
    with pytest.raises(OutcomeUnknown):
        append(Replicated(ReadOnlyError("WAITAOF cannot be used with replica instances.")), 2)


def test_a_server_that_restarted_is_told_the_script_again():
    client = Replicated(2)
    intake = RedisIntake(client, "gig", replicas=2)  # type: ignore[arg-type]
    asyncio.run(intake.append([b"one", b"two"]))
    client.known = False
    assert asyncio.run(intake.append([b"one", b"two"])) == ["5-0", "5-1"]
    assert client.sent == [[("load",)], BOTH, BOTH, [("load",)], BOTH]


def test_a_server_that_refuses_has_appended_nothing():
    with pytest.raises(StreamUnavailable):
        append(
            Replicated(2, trouble=ReadOnlyError("READONLY You can't write against a read only replica.")), 2
        )


def test_an_append_that_too_few_replicas_have_on_disk_is_unknown():
    with pytest.raises(OutcomeUnknown):
        append(Replicated(1), 2)


def test_without_replicas_none_is_asked():
    client = Replicated(0)
    assert append(client, 0) == ["5-0", "5-1"]
    assert client.sent == [[("load",)], [("append", 2)]]
