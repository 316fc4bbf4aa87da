"""A buyer: joins the waiting room, waits for their turn, asks for seats.

Everything is said until it is answered: after a cut connection or a refusal that passes it is said again,
under the same key, which onsale answers once. So a call here ends with the answer, with `Refused`, or when
the caller gives up waiting (`asyncio.timeout`); a later call with the same key goes on where it was.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Any, Final, Self

import httpx

from onsale_client.calls import Calls, Frame
from onsale_client.errors import Ended, Refused
from onsale_client.link import Link
from onsale_client.proof import solve
from onsale_client.ways import ALL, Ways

SAY_AGAIN_SECONDS: Final = 10.0
"""After so long without an answer it is said again, for whatever was lost."""
PROOFS_MAX: Final = 5
PROVE: Final = frozenset({"proof_required", "proof_expired", "proof_used"})
LIVE: Final = ("waiting", "admitted")
OF_PLACE: Final = ("join", "begin", "more_time", "leave_line")
"""What is said of the place."""


class _Asked:
    """One thing that is said until it is answered."""

    def __init__(self, name: str, frame: Frame) -> None:
        self.name = name
        self.frame = frame
        self.answer: asyncio.Future[Frame] = asyncio.get_running_loop().create_future()
        self.said_before = False
        self.proofs = 0

    def answered(self, frame: Frame) -> None:
        if not self.answer.done():
            self.answer.set_result(frame)


class Buyer:
    """One buyer at one event: `async with Buyer("https://on.sale", "gala", token) as buyer: …`.

    `ways`: how it may speak with onsale; the first that can be had is used.
    """

    def __init__(
        self,
        url: str,
        event: str,
        token: str,
        client: httpx.AsyncClient | None = None,
        *,
        ways: Sequence[str] = ALL,
    ) -> None:
        self._calls = Calls(url, event, token, client)
        link = Link(url, event, token, self._opened, self._told)
        self._ways = Ways(link, self._calls, self._told, self._opened, ways)
        self._asked: dict[str, _Asked] = {}
        """By request's key; what is said of the place under the frame's type."""
        self._changed = asyncio.Event()
        self._running: asyncio.Task[None] | None = None
        self._others: set[asyncio.Task[None]] = set()
        self.status: Frame | None = None
        """The waiting room as it was told last, for all buyers."""
        self.place: Frame | None = None
        """The buyer's own place in it."""

    async def __aenter__(self) -> Self:
        self._running = asyncio.get_running_loop().create_task(self._ways.run())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        tasks = [task for task in (self._running, *self._others) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._ways.stop()
        await self._calls.close()

    # --- the waiting room ---

    async def join(
        self, code: str | None = None, email: str | None = None, human: str | None = None
    ) -> Frame:
        """A place, or the one there is. Work that is asked for is done. Raises `Refused`."""
        more = {"code": code, "email": email, "human": human}
        frame = {"type": "join"} | {name: value for name, value in more.items() if value is not None}
        return await self._ask("join", frame)

    async def wait_for_turn(self, heard: Callable[[Frame], None] | None = None) -> Frame:
        """The place once it is admitted; `heard` is called with the room's status each time it is another
        one. Raises `Ended` when it is over instead."""
        told: Frame | None = None
        while True:
            if heard is not None and self.status is not None and self.status != told:
                told = self.status
                heard(told)
            if self.place is not None and self.place["state"] == "admitted":
                return self.place
            if self.place is not None and self.place["state"] != "waiting":
                raise Ended(self.place["state"])
            await self._until_changed()

    async def begin(self) -> Frame:
        """The turn begins: the place, with `until`. Raises `Refused` where it is not their turn."""
        return await self._ask("begin", {"type": "begin"})

    async def more_time(self) -> Frame:
        """The place with more time to begin, or to choose who has begun; `place["more_left"]` says how often.
        Raises `Refused` where it is not their turn, or there is no more."""
        return await self._ask("more_time", {"type": "more_time", "end": _end_of(self.place)})

    async def leave(self) -> Frame:
        """Give the place up."""
        return await self._ask("leave_line", {"type": "leave_line"})

    @property
    def ahead(self) -> int | None:
        """How many are before the buyer; None while nobody knows."""
        if self.place is None or self.status is None or self.place["position"] is None:
            return None
        served: int = self.status["serving_priority" if self.place["lane"] == "priority" else "serving"]
        return max(0, int(self.place["position"]) - served - 1)

    async def admission(self, shop: str | None = None) -> Frame:
        """A token for a shop elsewhere. Raises `Refused`."""
        return await self._calls.get("/room/admission", {"shop": shop} if shop else {})

    # --- the sale ---

    async def request(self, want: Mapping[str, Any], key: str | None = None) -> Frame:
        """The one decision about a request; the same key and content get the same one. Raises `Refused` for
        what is refused without one."""
        key = key or secrets.token_urlsafe(16)
        return await self._ask(key, {"type": "request", "id": key, **want})

    async def confirm(self, hold: str) -> Frame:
        """Buy a hold that costs nothing."""
        return await self._calls.post(f"/holds/{hold}/confirm")

    async def release(self, hold: str) -> Frame:
        """Give a hold back."""
        return await self._calls.post(f"/holds/{hold}/release")

    # --- what is said, and heard ---

    async def _ask(self, name: str, frame: Frame) -> Frame:
        asked = self._asked.get(name)
        if asked is None:
            asked = self._asked[name] = _Asked(name, frame)
        try:
            while not asked.answer.done():
                self._say(asked)
                waits: set[asyncio.Future[Any]] = {asked.answer, self._link_task}
                await asyncio.wait(waits, timeout=SAY_AGAIN_SECONDS, return_when=asyncio.FIRST_COMPLETED)
                self._raise_if_closed()
            return asked.answer.result()
        finally:
            if self._asked.get(name) is asked:
                del self._asked[name]

    def _say(self, asked: _Asked) -> None:
        again = asked.said_before and asked.frame["type"] == "request"
        asked.said_before = True
        self._ways.send(asked.name, asked.frame | ({"again": True} if again else {}))

    def _opened(self) -> None:
        for asked in self._asked.values():
            self._say(asked)

    def _told(self, frame: Frame) -> None:
        match frame["type"]:
            case "room":
                self.status = frame
            case "place":
                self._take_place(frame)
            case "decision" | "not_queued" if frame["id"] in self._asked:
                self._asked[frame["id"]].answered(frame)
            case "unknown" if frame["id"] in self._asked:
                self._say(self._asked[frame["id"]])
            case "error":
                self._take_error(frame)
        self._changed.set()

    def _take_place(self, place: Frame) -> None:
        self.place = place
        answers = {
            "join": place["state"] in LIVE,
            "begin": place["begun_at"] is not None,
            "leave_line": place["state"] not in LIVE,
        }
        if (more := self._asked.get("more_time")) is not None:
            answers["more_time"] = more.frame["end"] != _end_of(place)
        for name, answered in answers.items():
            if answered and name in self._asked:
                self._asked[name].answered(place)

    def _take_error(self, error: Frame) -> None:
        name = error.get("asked", error.get("id"))
        if name is None:  # on the socket what is said of the place has no name
            name = next((one for one in OF_PLACE if one in self._asked), "")
        asked = self._asked.get(name)
        if asked is None or asked.answer.done():
            return
        if error["code"] in PROVE and asked.proofs < PROOFS_MAX:
            self._later(self._prove(asked))
        elif "retry_after" in error:
            self._later(self._say_after(asked, float(error["retry_after"])))
        else:
            asked.answer.set_exception(Refused(error["code"], error["message"]))

    async def _prove(self, asked: _Asked) -> None:
        asked.proofs += 1
        try:
            challenge = await self._calls.get("/room/challenge")
            asked.frame["proof"] = await asyncio.to_thread(solve, challenge)
        except (Refused, ValueError) as error:
            if not asked.answer.done():
                asked.answer.set_exception(error)
            return
        self._say(asked)

    async def _say_after(self, asked: _Asked, seconds: float) -> None:
        await asyncio.sleep(seconds)
        if not asked.answer.done():
            self._say(asked)

    def _later(self, work: Any) -> None:
        task: asyncio.Task[None] = asyncio.get_running_loop().create_task(work)
        self._others.add(task)
        task.add_done_callback(self._others.discard)

    async def _until_changed(self) -> None:
        self._changed.clear()
        change = asyncio.get_running_loop().create_task(self._changed.wait())
        try:
            await asyncio.wait({change, self._link_task}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            change.cancel()
        self._raise_if_closed()

    @property
    def _link_task(self) -> asyncio.Task[None]:
        assert self._running is not None, "a buyer is used in `async with`"
        return self._running

    def _raise_if_closed(self) -> None:
        if self._link_task.done():
            self._link_task.result()  # raises `NotOpen`


def _end_of(place: Frame | None) -> int:
    """When a turn ends, to begin or to choose; 0: it is not the buyer's turn."""
    if place is None or place["state"] != "admitted":
        return 0
    return int(place["until"] or place["begin_by"])
