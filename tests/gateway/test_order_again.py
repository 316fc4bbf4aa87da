"""What is asked again keeps its order; what was decided meanwhile is not asked again."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import Any

from gateway.buyers.reask import Reask
from gateway.settings import Bounds
from store import lookups
from store.lookups import Cursor
from store.words import Arrival
from tests.gateway.rig import scenario, until
from tests.gateway.test_intake import Running, submit


@scenario
async def test_what_is_asked_again_goes_in_the_order_it_first_had():
    async with Running() as (intake, stream):
        submit(intake, *(f"r{n}" for n in range(4)))
        await until(lambda: intake.appended == 4)
        stream.entries.clear()
        intake.append_again(list(reversed(intake.undecided.values())))
        await until(lambda: len(stream.entries) == 4)
        assert stream.ids() == ["r0", "r1", "r2", "r3"]


@scenario
async def test_after_a_loss_the_accepted_go_before_who_came_earlier_and_was_never_answered():
    """As when the stream of an earlier one's append answered nobody, and then was lost."""
    async with Running() as (intake, stream):
        submit(intake, "r0", "r1", "r2")
        await until(lambda: intake.appended == 3)
        first = intake.find("ann", "r0")
        assert first is not None
        first.arrival = first.first_arrival = ""  # its reply never came
        stream.entries.clear()
        intake.everything_again()
        await until(lambda: len(stream.entries) == 3)
        assert stream.ids() == ["r1", "r2", "r0"]


@scenario
async def test_what_got_no_reply_goes_again_in_its_order_before_what_is_new():
    async with Running() as (intake, stream):
        stream.away = True
        submit(intake, "r0", "r1")
        await until(lambda: intake._again)
        submit(intake, "r2")
        stream.away = False
        await until(lambda: intake.appended == 3)
        assert stream.ids() == ["r0", "r1", "r2"]


class Ledger:
    """A ledger and a cursor; while the ledger is asked, the allocator decides all that it was asked for."""

    def __init__(self) -> None:
        self.cursor = Cursor(Arrival("50-0"), 1)

    async def decisions(self, keys: Any) -> dict[Any, Any]:
        self.cursor = Cursor(Arrival("999-0"), 2)
        return {}

    @asynccontextmanager
    async def connection(self):
        yield self


@scenario
async def test_what_is_decided_while_the_ledger_is_asked_was_not_lost(monkeypatch):
    async with Running() as (intake, stream):
        submit(intake, "r0")
        await until(lambda: intake.appended == 1)
        intake.find("ann", "r0").asked_at -= 60
        ledger = Ledger()

        async def cursor_of(connection, event_id):
            return ledger.cursor

        monkeypatch.setattr(lookups, "cursor_of", cursor_of)
        await Reask(intake, ledger, ledger, 1, Bounds()).turn()  # type: ignore[arg-type]
        assert ledger.cursor.batch_no == 2
        assert not intake._again
        assert stream.calls == [1]
