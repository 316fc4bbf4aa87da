"""Group commit, order, and what stays true when the stream fails. No engine: the stream is a list."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from types import SimpleNamespace

import pytest

from gateway.buyers import intake as intake_module
from gateway.buyers.intake import Intake
from gateway.buyers.reask import was_lost
from gateway.problems import KeyReused, TooMany
from gateway.settings import Bounds
from store.errors import OutcomeUnknown, StreamMissing, StreamUnavailable
from store.wire import decode_entry
from store.words import Arrival
from tests.gateway.rig import scenario, until


class Stream:
    """A stream that can be missing, or swallow replies."""

    def __init__(self):
        self.calls = []
        self.entries = []
        self.number = 0
        self.base = 100
        self.missing = False
        self.refusing = False
        self.refused = 0
        self.cut_replies = 0
        self.away = False
        self.created_above = []
        self.gate = asyncio.Event()
        self.gate.set()

    async def append(self, entries):
        await self.gate.wait()
        if self.away:
            raise OutcomeUnknown
        if self.missing:
            raise StreamMissing
        if self.refusing:
            self.refused += 1
            raise StreamUnavailable
        self.calls.append(len(entries))
        arrivals = []
        for entry in entries:
            self.number += 1
            arrivals.append(Arrival(f"{self.base}-{self.number}"))
            self.entries.append(decode_entry(entry))
        if self.cut_replies:
            self.cut_replies -= 1
            raise OutcomeUnknown
        return arrivals

    async def create(self, above):
        self.created_above.append(above)
        self.missing = False
        self.base += 1

    async def last_arrival(self):
        if self.away:
            raise ConnectionError
        return Arrival(f"{self.base}-{self.number}")

    async def poke(self):
        return

    def ids(self):
        return [entry.request_id for entry in self.entries]


class Told:
    def __init__(self, *, prompt=False):
        self.prompt = prompt
        self.heard = []
        self.accepted_one = asyncio.Event()

    def decided(self, frame):
        self.heard.append(("decided", frame))

    def accepted(self, request_id, arrival):
        self.heard.append(("accepted", request_id, arrival))
        self.accepted_one.set()

    def delayed(self, request_id):
        self.heard.append(("delayed", request_id))

    def refused(self, request_id, error):
        self.heard.append(("refused", request_id, error.code))


class Running:
    def __init__(self, cursor="50-0", **bounds):
        self.stream = Stream()

        async def read_cursor():
            return Arrival(cursor)

        self.intake = Intake(self.stream, "gw", replace(Bounds(), **bounds), read_cursor)

    async def __aenter__(self):
        self.task = asyncio.create_task(self.intake.run())
        return self.intake, self.stream

    async def __aexit__(self, *_):
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)


def submit(intake, *ids, buyer="ann", told=None):
    told = told or Told()
    for request_id in ids:
        intake.submit(buyer, request_id, b'{"seats":["a"]}', told)
    return told


@scenario
async def test_what_comes_while_an_append_is_under_way_goes_in_the_next():
    async with Running() as (intake, stream):
        stream.gate.clear()
        submit(intake, "r0")
        await asyncio.sleep(0.01)
        submit(intake, "r1", "r2", "r3")
        stream.gate.set()
        await until(lambda: intake.appended == 4)
        assert stream.calls == [1, 3]
        assert stream.ids() == ["r0", "r1", "r2", "r3"]


@scenario
async def test_who_comes_first_goes_at_once_and_who_comes_soon_after_shares_the_next(monkeypatch):
    over = asyncio.Event()

    async def rest(seconds):
        if seconds > 0:
            await over.wait()

    monkeypatch.setattr(intake_module, "GROUP_SECONDS_MIN", 3_600.0)
    monkeypatch.setattr(intake_module, "asyncio", SimpleNamespace(**vars(asyncio) | {"sleep": rest}))
    async with Running() as (intake, stream):
        for request_id in ("r0", "r1", "r2"):
            submit(intake, request_id)
            for _ in range(5):  # turns of the loop, in which an append would be over
                await asyncio.sleep(0)
            assert stream.calls == [1]
        over.set()
        await until(lambda: intake.appended == 3)
        assert stream.calls == [1, 2]


@scenario
async def test_accepted_waits_a_tick_and_is_left_out_when_the_decision_is_there():
    async with Running() as (intake, _):
        slow, quick, post = submit(intake, "r0"), submit(intake, "r1"), Told(prompt=True)
        submit(intake, "r2", told=post)
        await post.accepted_one.wait()
        assert post.heard == [("accepted", "r2", "100-3")]
        intake.deliver([("ann", "r1", b"decision")])
        await until(lambda: slow.heard)
        assert slow.heard == [("accepted", "r0", "100-1")]
        assert quick.heard == [("decided", b"decision")]


@scenario
async def test_a_missing_stream_is_made_above_all_that_is_known_and_gets_the_accepted_first():
    async with Running(cursor="50-7") as (intake, stream):
        for request_id in ("r0", "r1", "r2"):
            submit(intake, request_id)
        await until(lambda: intake.appended == 3)
        intake.deliver([("ann", "r1", b"decision")])
        stream.entries.clear()
        stream.missing = True
        submit(intake, "r3", "r4")
        await until(lambda: intake.appended == 5)
        assert stream.created_above == ["100-3"]
        assert [(entry.request_id, entry.first_arrival) for entry in stream.entries] == [
            ("r0", "100-1"), ("r2", "100-3"), ("r3", ""), ("r4", ""),
        ]  # fmt: skip
        assert intake.appended_again == 2


@scenario
async def test_a_new_stream_stands_above_the_cursor_even_when_this_gateway_saw_less():
    async with Running(cursor="900-7") as (intake, stream):
        stream.missing = True
        submit(intake, "r0")
        await until(lambda: intake.appended == 1)
        assert stream.created_above == ["900-7"]


@scenario
async def test_a_cut_reply_tells_nobody_anything_and_the_same_goes_again_first():
    async with Running() as (intake, stream):
        stream.cut_replies = 1
        told = submit(intake, "r0", "r1")
        await asyncio.sleep(0)
        await until(lambda: stream.cut_replies == 0)
        submit(intake, "r2", told=told)
        assert told.heard == []
        await until(lambda: len(told.heard) == 3)
        assert stream.ids()[2:] == ["r0", "r1", "r2"]
        assert [kind for kind, *_ in told.heard] == ["accepted"] * 3


@scenario
async def test_what_was_never_sent_is_refused_after_its_time_and_what_was_sent_is_not():
    async with Running(waiting_seconds_max=0.1) as (intake, stream):
        stream.away = True
        sent = submit(intake, "r0")
        await asyncio.sleep(0.02)
        unsent = submit(intake, "r1")
        await until(lambda: unsent.heard)
        assert unsent.heard == [("refused", "r1", "stream_unavailable")]
        assert sent.heard == []
        stream.away = False
        await until(lambda: sent.heard)
        assert stream.ids() == ["r0"]


@scenario
async def test_everything_undecided_can_be_asked_again_and_keeps_its_first_arrival():
    async with Running() as (intake, stream):
        submit(intake, "r0", "r1")
        await until(lambda: intake.appended == 2)
        for _ in range(2):
            stream.entries.clear()
            intake.everything_again()
            await until(lambda: len(stream.entries) == 2)
        assert [entry.first_arrival for entry in stream.entries] == ["100-1", "100-2"]


@scenario
async def test_a_key_under_way_is_joined_and_refused_with_other_content():
    async with Running() as (intake, _):
        first = submit(intake, "r0")
        second = submit(intake, "r0")
        with pytest.raises(KeyReused):
            intake.submit("ann", "r0", b'{"seats":["b"]}', Told())
        await until(lambda: intake.appended)
        intake.deliver([("ann", "r0", b"decision"), ("ann", "r0", b"decision"), ("bob", "r0", b"his")])
        assert first.heard == second.heard == [("decided", b"decision")]
        assert intake.undecided_of("ann") == len(intake.undecided) == 0


@scenario
async def test_a_buyers_bound_counts_what_is_undecided_only():
    async with Running(undecided_per_buyer_max=1) as (intake, _):
        submit(intake, "r0")
        with pytest.raises(TooMany):
            submit(intake, "r1")
        submit(intake, "r0", buyer="bob")
        intake.deliver([("ann", "r0", b"decision")])
        submit(intake, "r1")


@scenario
async def test_a_group_has_a_bound(monkeypatch):
    monkeypatch.setattr(intake_module, "GROUP_MAX", 3)
    async with Running() as (intake, stream):
        submit(intake, *(f"r{n}" for n in range(7)))
        await until(lambda: intake.appended == 7)
        assert stream.calls == [3, 3, 1]


@pytest.mark.parametrize(
    ("arrival", "cursor", "last", "lost"),
    [
        ("5-0", "5-0", "9-0", True),
        ("5-1", "5-0", "9-0", False),
        ("10-0", "5-0", "9-0", True),
        ("9-0", "5-0", "9-0", False),
        ("10-0", "9-9", None, False),
        ("9-0", "10-0", None, True),
    ],
)
def test_an_entry_is_lost_when_the_cursor_passed_it_or_the_stream_ends_below_it(arrival, cursor, last, lost):
    assert was_lost(arrival, Arrival(cursor), last and Arrival(last)) is lost


@scenario
async def test_a_server_that_takes_no_writes_is_asked_later_and_later_and_keeps_the_order():
    async with Running() as (intake, stream):
        stream.refusing = True
        told = submit(intake, "r0")
        await until(lambda: stream.refused == 1)
        submit(intake, "r1", told=told)
        await until(lambda: stream.refused == 3)
        tried_within = stream.refused
        stream.refusing = False
        await until(lambda: intake.appended == 2)
        assert tried_within == 3, "it was not tried all the time"
        assert stream.ids() == ["r0", "r1"]
        assert told.heard == []


@scenario
async def test_what_a_server_refused_is_not_in_the_stream_and_is_refused_in_time():
    async with Running(waiting_seconds_max=0.05) as (intake, stream):
        stream.refusing = True
        told = submit(intake, "r0")
        await until(lambda: told.heard)
        assert told.heard == [("refused", "r0", "stream_unavailable")]
        assert not intake.undecided
