"""The seats that were asked for on a plain page, by a form or by the ballot's wish: what became of them, and
what their buyer does with them.

Which request that is stands in a cookie; where it says nothing, it is the ballot's once that is done.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from gateway.buyers import owning
from gateway.buyers.decode import Confirm, Release
from gateway.buyers.recall import DATABASE_AWAY
from gateway.events import EventRuntime
from gateway.pages import wishes
from gateway.pages.seen import Asked
from gateway.payments import paying
from gateway.room import acting
from gateway.runtime import Runtime
from store import holds
from store.errors import NotFound, OnsaleError, Unavailable
from store.room import ballot
from store.room.words import BallotState
from store.wire import canonical_want
from store.words import HoldState, Outcome

ANSWER_SECONDS_MAX: Final = 10.0
"""Longest wait for Postgres or the stream within one form."""
PUT_ASIDE: Final = "-"
"""In the cookie: its buyer has seen what came of it."""


class AskedFor:
    """One buyer's, at one event; `id` is what the cookie says."""

    def __init__(self, runtime: Runtime, event: EventRuntime, buyer: str, request_id: str) -> None:
        self._runtime = runtime
        self._event = event
        self._room = acting.room_of(event)
        self._buyer = buyer
        self.id = request_id

    @property
    def _key(self) -> str:
        if self.id:
            return "" if self.id == PUT_ASIDE else self.id
        return ballot.REQUEST_ID if self._room.told.ballot is BallotState.DONE else ""

    @property
    def is_the_ballots(self) -> bool:
        return self._key == ballot.REQUEST_ID

    async def look(self) -> Asked | None:
        """What became of it; None: nothing was asked for."""
        decided = await self._decided()
        if decided is None:
            waits = self._key and self._event.intake.find(self._buyer, self._key) is not None
            return Asked("asking") if waits else None
        if decided["outcome"] != Outcome.HELD:
            return Asked(decided["outcome"], result=decided["result"])
        return await self._held(decided["result"])

    async def _decided(self) -> dict[str, Any] | None:
        if not self._key or not self._buyer:
            return None
        decided = await self._event.recall.find(self._buyer, self._key)
        return None if decided is None else msgspec.json.decode(decided.frame)

    async def _held(self, result: dict[str, Any]) -> Asked:
        event = self._event
        values = {"event": event.row.id, "hold": int(result["hold"]), "buyer": self._buyer}
        try:
            async with self._runtime.pool.connection() as connection:
                now = await holds.look(connection, values)
        except NotFound:
            return Asked("gone")
        except DATABASE_AWAY as error:
            raise Unavailable("The database is away. Try again shortly.") from error
        if now.state is not HoldState.ACTIVE:
            return Asked("paid" if now.state is HoldState.PAID else str(now.state))
        minutes = round((now.expires_at - event.now_us()) / 60_000_000)
        costs = event.row.payment != "none"
        return Asked(
            "held", self._names(result), minutes, await self._pay_url(result) if costs else "", costs
        )

    def _names(self, result: Mapping[str, Any]) -> tuple[str, ...]:
        plan, numbers = self._event.plan, self._event.numbers
        named = [plan.seats[numbers[guid]] for guid in result["seats"]]
        names = [f"{plan.sections[one.section].name} {one.row} {one.number}" for one in named]
        areas = {area.guid: area.name for area in plan.areas}
        return (*names, *[f"{count} × {areas[guid]}" for guid, count in result["areas"].items()])

    async def _pay_url(self, result: dict[str, Any]) -> str:
        try:
            told = await paying.read_payment(self._runtime, self._event, int(result["hold"]), self._buyer)
        except NotFound:
            return ""
        url = (told.checkout or {}).get("url", "")
        return url if url.startswith(("https://", "http://")) else ""

    async def ask(self, form: Mapping[str, str]) -> None:
        """Ask for what a form says; raises what is refused, and `TimeoutError` where nobody knows yet."""
        event = self._event
        wished = wishes.read(form, event.plan, event.row.seats_per_buyer_max)
        event.must_sell()
        let: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._room.let_in(self._buyer, lambda error: answer(let, error))
        await asyncio.wait_for(let, ANSWER_SECONDS_MAX)
        asked, waiter = f"plain-{secrets.token_hex(8)}", _Accepted()
        event.intake.submit(self._buyer, asked, canonical_want(wishes.want_of(wished, event.plan)), waiter)
        self.id = asked
        await asyncio.wait_for(waiter.done, ANSWER_SECONDS_MAX)

    async def settle(self, act: str) -> None:
        """Buy what is held, or give it back (`release`)."""
        decided = await self._decided()
        if decided is None or decided["outcome"] != Outcome.HELD:
            raise NotFound("hold_not_found", "You have no such hold.")
        hold = decided["result"]["hold"]
        if act == "release":
            await owning.change(self._runtime, self._event, Release(hold), self._buyer)
            self.id = PUT_ASIDE
        elif self._event.row.payment == "none":
            await owning.change(self._runtime, self._event, Confirm(hold), self._buyer)
        else:
            await paying.begin_payment(self._runtime, self._event, int(hold), self._buyer, None)


class _Accepted:
    """Waits until a request is in the stream; its decision is read by the page."""

    prompt = True

    def __init__(self) -> None:
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def decided(self, frame: bytes) -> None:
        answer(self.done, None)

    def accepted(self, request_id: str, arrival: str) -> None:
        answer(self.done, None)

    def delayed(self, request_id: str) -> None:
        return

    def refused(self, request_id: str, error: OnsaleError) -> None:
        answer(self.done, error)


def answer(future: asyncio.Future[None], error: OnsaleError | None) -> None:
    """End a wait, once."""
    if not future.done():
        future.set_result(None) if error is None else future.set_exception(error)
