"""The fake gateway's waiting list: who joins, at which place, and offers that tests make."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tests.browser.fake_owning import Hold

if TYPE_CHECKING:
    from tests.browser.fake_gateway import Buyer, FakeGateway

Frame = dict[str, Any]
_ASKED = ("seats", "best", "areas", "up_to", "fallbacks", "waitlist")


@dataclass
class Waits:
    buyer: str
    id: str
    want: Frame
    wait: str
    state: str = "waiting"
    offer: Frame = field(default_factory=dict)


class Waitlist:
    """`before` are others who wait ahead of everybody who joins, `after` those behind."""

    def __init__(self, fake: FakeGateway) -> None:
        self._fake = fake
        self.entries: list[Waits] = []
        self.before = 0
        self.after = 0

    # --- for tests ---

    def move_up(self, before: int) -> None:
        """Others ahead left or were served."""
        self.before = before
        self._fake.on_loop(self.tell_all)

    def offer(self, seats: list[int], *, telling: bool = True) -> str:
        """The first who waits here is offered these seats; `telling`: and hears it. The hold's id."""
        entry = next(one for one in self.entries if one.state == "waiting")
        hold_id = str((1 << 30) + len(self._fake.holds))
        self._fake.on_loop(lambda: self._offer(entry, hold_id, seats, telling))
        return hold_id

    # --- the protocol ---

    def join(self, buyer: str, frame: Frame, why: str, detail: Frame) -> Frame:
        """The result of the decision to wait."""
        want = {word: frame[word] for word in _ASKED if word in frame}
        entry = Waits(buyer, frame["id"], want, str((1 << 16) + len(self.entries)))
        self.entries.append(entry)
        return {"wait": entry.wait, "position": self._place(entry), "why": why, "detail": detail}

    async def receive(self, buyer: Buyer, frame: Frame) -> None:
        if frame["type"] == "waiting":
            await buyer.tell(self._list(buyer.name))
            return
        mine = (one for one in self.entries if (one.buyer, one.id) == (buyer.name, frame["id"]))
        entry = next(mine, None)
        if entry is None or entry.state == "offered":
            code = "not_waiting" if entry is None else "offered"
            await buyer.tell({"type": "error", "code": code, "message": "No.", "id": frame["id"]})
            return
        entry.state = "left"
        await self._send(buyer.name, {"type": "left", "id": entry.id})
        await self.tell_all()

    async def tell_all(self) -> None:
        for name in {one.name for one in self._fake.buyers}:
            await self._send(name, self._list(name))

    async def _send(self, name: str, frame: Frame) -> None:
        for one in self._fake.buyers:
            if one.name == name:
                await one.tell(frame)

    def _waiting(self) -> list[Waits]:
        return [one for one in self.entries if one.state == "waiting"]

    def _place(self, entry: Waits) -> int:
        return self.before + self._waiting().index(entry) + 1

    def _list(self, name: str) -> Frame:
        told = []
        for one in self.entries:
            frame: Frame = {"id": one.id, "wait": one.wait, "state": one.state, "want": one.want}
            if one.buyer != name or one.state == "left":
                continue
            if one.state == "waiting":
                frame["position"] = self._place(one)
            else:
                hold = self._fake.holds[one.offer["hold"]]
                left = self._fake.extensions_max - hold.extensions
                frame["offer"] = one.offer
                frame["hold"] = {"hold": one.offer["hold"], "state": hold.state}
                frame["hold"] |= {"expires_at": hold.expires_at, "extensions_left": left}
            told.append(frame)
        of = self.before + len(self._waiting()) + self.after
        return {"type": "waiting", "of": of, "waiting": told}

    async def _offer(self, entry: Waits, hold_id: str, seats: list[int], telling: bool) -> None:
        ends = int(time.time() * 1000 + self._fake.offer_ttl_seconds * 1000)
        self._fake.holds[hold_id] = Hold(entry.buyer, seats, {}, ends)
        guids = [self._fake.plan.seats[seat].guid for seat in seats]
        entry.state = "offered"
        entry.offer = {"hold": hold_id, "seats": guids, "areas": {}, "expires_at": ends}
        entry.offer |= {"step": "together", "passed_over": 0}
        await self._fake._change([(seat, "h") for seat in seats])
        if telling:
            offer = {"type": "offer", "id": entry.id, "wait": entry.wait, "result": entry.offer}
            await self._send(entry.buyer, offer)
            await self.tell_all()
