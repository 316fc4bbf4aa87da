"""Many sockets: everything else still gets its turn, and there is room for them."""

from __future__ import annotations

import asyncio
import contextlib
import resource
import select
import socket
from collections.abc import Callable, Iterator

from gateway import turns
from gateway.app import make_room_for

A_TURN = 16
MANY = 64


@contextlib.contextmanager
def readable(count: int) -> Iterator[list[socket.socket]]:
    """Sockets with something to read."""
    with contextlib.ExitStack() as pairs:
        mine = []
        for _ in range(count):
            one, other = socket.socketpair()
            pairs.callback(one.close)
            pairs.callback(other.close)
            one.setblocking(False)
            other.send(b"x")
            mine.append(one)
        yield mine


class Client(asyncio.BaseTransport):
    """As much of a transport as `enter` and `leave` look at."""

    def __init__(self, sock: socket.socket) -> None:
        super().__init__({"socket": sock})


def storm(meanwhile: Callable[[asyncio.AbstractEventLoop, int], None]) -> list[int]:
    """`MANY` clients at once; how many were read in each turn. `meanwhile` is called with each's number."""
    reads_in_turns = []

    async def run(clients: list[socket.socket]) -> None:
        loop, read, before = asyncio.get_running_loop(), 0, 0

        def on_readable(client: socket.socket) -> None:
            nonlocal read
            loop.remove_reader(client)
            turns.leave(Client(client))
            read += 1
            meanwhile(loop, read)

        for client in clients:
            turns.enter(Client(client))
            loop.add_reader(client, on_readable, client)
        while read < MANY:
            await asyncio.sleep(0)
            reads_in_turns.append(read - before)
            before = read

    with readable(MANY) as clients, asyncio.Runner(loop_factory=turns.new_event_loop) as runner:
        runner.run(run(clients))
    return reads_in_turns


def test_readable_clients_share_the_loop_with_everything_else(monkeypatch):
    monkeypatch.setattr(turns, "CLIENTS_A_TURN", A_TURN)
    reads_in_turns = storm(lambda loop, read: None)
    assert sum(reads_in_turns) == MANY
    assert max(reads_in_turns) <= A_TURN


def test_our_own_connections_are_read_before_clients_that_wait_longer(monkeypatch):
    monkeypatch.setattr(turns, "CLIENTS_A_TURN", A_TURN)
    read_before_ours = []
    with readable(1) as [ours]:

        def reply_comes(loop: asyncio.AbstractEventLoop, read: int) -> None:
            if read == 1:
                loop.add_reader(ours, on_reply, loop)
            read_before_ours.append(read)

        def on_reply(loop: asyncio.AbstractEventLoop) -> None:
            loop.remove_reader(ours)
            read_before_ours.append(-1)

        storm(reply_comes)
    assert -1 in read_before_ours[: A_TURN + 1]


def test_a_socket_is_where_it_was_entered_even_if_it_leaves_or_enters_while_registered():
    async def run(sock: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        for first, then in ((turns.enter, turns.leave), (turns.leave, turns.enter)):
            first(Client(sock))
            loop.add_reader(sock, print)
            then(Client(sock))
            loop.add_writer(sock, print)
            assert loop.remove_reader(sock)
            assert loop.remove_writer(sock)

    with readable(1) as [sock], asyncio.Runner(loop_factory=turns.new_event_loop) as runner:
        runner.run(run(sock))


def test_a_socket_that_was_taken_out_is_not_reported():
    with readable(1) as [sock], contextlib.closing(turns._TwoQueues(select.epoll())) as queues:
        for move in (queues.client_fds.add, queues.client_fds.discard):
            queues.register(sock.fileno(), select.EPOLLIN)
            assert queues.poll(0, 10) == [(sock.fileno(), select.EPOLLIN)]
            move(sock.fileno())
            queues.unregister(sock.fileno())
            assert queues.poll(0, 10) == []


def test_the_gateway_raises_its_own_limit_of_open_files_but_never_lowers_it(monkeypatch):
    limits = [(1_024, 4_096)]
    monkeypatch.setattr(resource, "getrlimit", lambda _: limits[-1])
    monkeypatch.setattr(resource, "setrlimit", lambda _, limit: limits.append(limit))
    make_room_for(2_000)
    make_room_for(1_000)
    make_room_for(9_000)
    assert limits == [(1_024, 4_096), (2_000, 4_096), (4_096, 4_096)]
