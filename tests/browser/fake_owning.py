"""What the fake gateway does with what is a buyer's: buy, give back all or some, extend. As `store.holds`."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.browser.fake_gateway import Buyer, FakeGateway

Frame = dict[str, Any]


@dataclass
class Hold:
    buyer: str
    seats: list[int]
    areas: dict[int, int]
    expires_at: int
    extensions: int = 0
    state: str = "active"


class Owning:
    def __init__(self, fake: FakeGateway) -> None:
        self._fake = fake

    async def receive(self, buyer: Buyer, frame: Frame) -> None:
        error, answer = await self._do(buyer, frame)
        if self._fake.replies_lost:
            self._fake.replies_lost -= 1
            error, answer = {"code": "unavailable", "retry_after": 1}, {}
        if error:
            refused = {"type": "error", "message": "No.", "hold": frame["hold"], **error}
            await buyer.tell(refused)
            return
        answer = {
            "type": "hold",
            "hold": frame["hold"],
            "state": self._fake.holds[frame["hold"]].state,
            **answer,
        }
        for one in self._fake.buyers:
            if one.name == buyer.name:
                await one.tell(answer)

    async def _do(self, buyer: Buyer, frame: Frame) -> tuple[Frame, Frame]:
        """(error, what an answer says besides the state)"""
        hold = self._fake.holds.get(frame["hold"])
        if self._fake.refusing_holds:
            return {"code": self._fake.refusing_holds}, {}
        if hold is None or hold.buyer != buyer.name:
            return {"code": "hold_not_found"}, {}
        done = {"confirm": "paid", "release": "released", "extend": ""}[frame["type"]]
        state = hold.state
        if state == "active" and hold.expires_at <= self._runs_by() and done != "released":
            state = "expired"
        if state == done or (state, done) == ("expired", "released"):
            return {}, {}
        if state != "active":
            return {"code": f"hold_{state}"}, {}
        if done == "paid" and self._fake.payment == "required":
            return {"code": "payment_required"}, {}
        if frame["type"] == "extend":
            return self._extend(hold, frame)
        if "quantity" in frame:
            if frame["quantity"] == len(hold.seats) + sum(hold.areas.values()):
                await self._give_back(hold, frame)
            return {}, self._standing(hold) | self._contents(hold)
        hold.state = done
        letter = "s" if done == "paid" else "a"
        for area, count in hold.areas.items() if letter == "a" else ():
            self._fake.free[area] += count
        await self._fake._change([(seat, letter) for seat in hold.seats])
        return {}, {}

    def _extend(self, hold: Hold, frame: Frame) -> tuple[Frame, Frame]:
        """Only from the end that is named; a hold that ends at another time is answered as it is."""
        if hold.expires_at == frame["expires_at"]:
            if hold.extensions >= self._fake.extensions_max:
                return {"code": "no_extensions_left"}, {}
            hold.extensions += 1
            hold.expires_at += self._fake.extension_seconds * (2000 if frame.get("accessible") else 1000)
        return {}, self._standing(hold)

    def _runs_by(self) -> int:
        """The time that holds run out by: in a pause or an outage, the moment it began."""
        return (
            self._fake.paused_at
            if self._fake.state == "paused"
            else self._fake.outage_since or int(time.time() * 1000)
        )

    async def _give_back(self, hold: Hold, frame: Frame) -> None:
        given = [self._fake.numbers[guid] for guid in frame["seats"]]
        hold.seats = [seat for seat in hold.seats if seat not in given]
        for guid, count in frame["areas"].items():
            area = self._fake.area_numbers[guid]
            self._fake.free[area] += count
            hold.areas[area] -= count
        hold.areas = {area: count for area, count in hold.areas.items() if count}
        await self._fake._change([(seat, "a") for seat in given])

    def _standing(self, hold: Hold) -> Frame:
        return {"expires_at": hold.expires_at, "extensions_left": self._fake.extensions_max - hold.extensions}

    def _contents(self, hold: Hold) -> Frame:
        areas = {self._fake.plan.areas[area].guid: count for area, count in hold.areas.items()}
        return {"seats": [self._fake.plan.seats[seat].guid for seat in hold.seats], "areas": areas}
