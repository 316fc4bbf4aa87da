"""The fake gateway's waiting room: the frames and documents of a real one, and switches for what the owner of
an event would decide. Times are the server's, which tests may put far from the browser's.
"""

from __future__ import annotations

import base64
import hashlib
import json
import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from fastapi import FastAPI, Header, Response, WebSocketDisconnect

if TYPE_CHECKING:
    from tests.browser.fake_gateway import Buyer, FakeGateway

Frame = dict[str, Any]
SEED = bytes(range(32))
NONCE, SALT = bytes(range(16)), bytes(range(16, 32))
LIVE = ("waiting", "admitted")


@dataclass
class FakeRoom:
    """`phase` and the other plain attributes are the status document's; `tell` says them to all."""

    phase: str = "lobby"
    policy: str = "draw"
    ballot: str = "none"
    opens_in_seconds: float | None = 95
    joined: int = 1_203
    serving: int = 0
    rate: float | None = None
    reason: str | None = None
    message: str = ""
    seats_left: int | None = None
    sold_out: bool = False
    begin_seconds: int = 180
    shopping_seconds: int = 900
    more_max: int = 3
    look: Frame = field(default_factory=dict)
    ahead_of_us: int = 1_203
    """Positions of others before the next who gets one here."""
    refusing: Frame | None = None
    """The next frame is answered with this error."""
    server_ahead_seconds: float = 0
    answering: bool = True
    proof_counter: int = -1
    """Not negative: joining takes a proof of work with this counter."""
    proofs_refused: list[str] = field(default_factory=list)
    """The next proofs are refused with these codes."""

    key: str = ""
    """Not empty, and with `shops`: buyers of these go back there, with a token."""
    shops: tuple[str, ...] = ()
    human_check_script: str = ""
    """Not empty: who joins brings an answer of the check, which `human_check_site_key` names."""
    human_check_site_key: str = ""

    frames = ("join", "begin", "more_time", "leave_line", "wish")

    def open(self, fake: FakeGateway) -> None:
        self.fake = fake
        self.version = 1
        self.places: dict[str, Frame] = {}
        self.wishes: dict[str, Frame] = {}
        self.emails: dict[str, str] = {}
        self.message_at = self.challenges = 0
        opens_in = self.opens_in_seconds
        self.opens_at = None if opens_in is None else self.now() + int(opens_in * 1000)
        self.lobby_opens_at: int | None = None

    def now(self) -> int:
        return int((time.time() + self.server_ahead_seconds) * 1000)

    def status(self) -> Frame:
        message = {"text": self.message, "at": self.message_at} if self.message else None
        drawn = self.phase not in ("draft", "lobby", "drawing")
        return {
            "event": self.fake.slug,
            "state": self.fake.state,
            "phase": self.phase,
            "policy": self.policy,
            "admission": {"paused": "paused", "stopped": "stopped"}.get(self.phase, "running"),
            "joined": self.joined,
            "serving": self.serving,
            "serving_priority": 0,
            "next_position": self.ahead_of_us + 1,
            "drawn": self.joined if drawn else None,
            "pace": 120,
            "rate": self.rate,
            "reason": self.reason,
            "message": message,
            "seats_left": self.seats_left,
            "sold_out": self.sold_out,
            "ballot": self.ballot,
            "proof": False,
            "seed_sha256": hashlib.sha256(SEED).hexdigest(),
            "seed": SEED.hex() if drawn else None,
            "opens_at": self.opens_at,
            "lobby_opens_at": self.lobby_opens_at,
            "begin_seconds": self.begin_seconds,
            "shopping_seconds": self.shopping_seconds,
            "look": self.look,
            "version": self.version,
            "at": self.now(),
        }

    # --- for tests: what an owner decides ---

    def tell(self, **changes: Any) -> None:
        """The room is so now, and everybody hears it."""
        if "message" in changes:
            self.message_at = self.now()
        for name, value in changes.items():
            assert hasattr(self, name), name
            setattr(self, name, value)
        self.version += 1
        self.fake.send_all({"type": "room", **self.status()})

    def draw(self, **changes: Any) -> None:
        """The sale begins: the draw, and who waits gets positions."""
        self.fake.become("open")
        self.tell(phase="drawing")
        for place in self.places.values():
            self.ahead_of_us += 1
            place["position"] = self.ahead_of_us
        self._tell_places()
        self.tell(phase="admitting", **changes)

    def admit(self) -> None:
        """It is the turn of everybody who waits here."""
        for place in self.places.values():
            if place["state"] == "waiting":
                now = self.now()
                place |= {"state": "admitted", "admitted_at": now}
                place["begin_by"] = now + self.begin_seconds * 1000
                place |= {"more_left": self.more_max, "more_seconds": self.begin_seconds}
        self.serving = max([self.serving, *(place["position"] or 0 for place in self.places.values())])
        self.tell()
        self._tell_places()

    def change_places(self, **changes: Any) -> None:
        for place in self.places.values():
            place |= changes
        self._tell_places()

    def _tell_places(self) -> None:
        async def tell() -> None:
            for buyer in list(self.fake.buyers):
                await self._tell_place(buyer.name)

        self.fake.on_loop(tell)

    async def _tell_place(self, name: str) -> None:
        for buyer in list(self.fake.buyers):
            if buyer.name == name and name in self.places:
                with suppress(WebSocketDisconnect, RuntimeError):
                    await buyer.tell({"type": "place", **self.places[name]})

    # --- the socket ---

    async def welcome(self, buyer: Buyer) -> None:
        await buyer.tell({"type": "room", **self.status()})
        if buyer.name in self.places and self.places[buyer.name]["state"] in (*LIVE, "expired"):
            await self._tell_place(buyer.name)

    async def receive(self, buyer: Buyer, frame: Frame) -> None:
        if not self.answering:
            return
        if self.refusing is not None:
            answer, self.refusing = self.refusing, None
            await buyer.tell({"type": "error", **answer})
            return
        if frame["type"] == "join" and (code := self._unproved(frame)):
            await buyer.tell({"type": "error", "code": code, "message": "Prove that a computer worked."})
            return
        if frame["type"] == "wish":
            if "want" in frame:
                self.wishes[buyer.name] = {"type": "wish", "want": frame["want"], "filed_at": self.now()}
            nothing = {"type": "wish", "want": None, "filed_at": None}
            await buyer.tell(self.wishes.get(buyer.name, nothing))
            return
        if "email" in frame:
            self.emails[buyer.name] = frame["email"]
        if frame["type"] == "more_time":
            self.more_time(buyer.name, frame["end"])
        else:
            {"join": self.join, "begin": self.begin, "leave_line": self.leave}[frame["type"]](buyer.name)
        await self._tell_place(buyer.name)

    def _unproved(self, frame: Frame) -> str:
        """Why this does not prove that a computer worked; empty where it does."""
        if self.proof_counter < 0:
            return ""
        if "proof" not in frame:
            return "proof_required"
        if self.proofs_refused:
            return self.proofs_refused.pop(0)
        told = json.loads(base64.b64decode(frame["proof"]))["solution"]
        proved = (told["counter"], told["derivedKey"]) == (self.proof_counter, self._key().hex())
        return "" if proved else "proof_not_valid"

    def _key(self) -> bytes:
        return hashlib.pbkdf2_hmac("sha256", NONCE + self.proof_counter.to_bytes(4), SALT, 20, 32)

    def join(self, name: str) -> None:
        there = self.places.get(name)
        if there is not None and there["state"] in LIVE:
            return
        if there is not None and there["state"] == "expired" and there["begun_at"] is None:
            there["state"] = "waiting"
            return
        position = None
        if self.phase not in ("draft", "lobby") or self.policy == "fifo":
            self.ahead_of_us += 1
            position = self.ahead_of_us
        self.joined += 1
        self.places[name] = {
            "place": str(uuid4()),
            "lane": "ordinary",
            "state": "waiting",
            "position": position,
            "joined_at": self.now(),
            "admitted_at": None,
            "begin_by": None,
            "begun_at": None,
            "until": None,
            "more_left": 0,
            "more_seconds": 0,
            "token": f"resume-{name}",
        }

    def begin(self, name: str) -> None:
        place = self.places[name]
        if place["state"] == "admitted" and place["begun_at"] is None:
            now = self.now()
            place |= {"begun_at": now, "until": now + self.shopping_seconds * 1000}
            place |= {"more_left": self.more_max, "more_seconds": self.shopping_seconds // 2}

    def more_time(self, name: str, end: int) -> None:
        place = self.places[name]
        runs = "begin_by" if place["begun_at"] is None else "until"
        if place["state"] == "admitted" and place[runs] == end and place["more_left"]:
            place |= {runs: end + place["more_seconds"] * 1000, "more_left": place["more_left"] - 1}

    def leave(self, name: str) -> None:
        self.places[name]["state"] = "left"

    # --- over HTTP ---

    def mount(self, app: FastAPI) -> None:
        @app.get("/v1/events/{event}/room")
        async def room(event: str, if_none_match: str = Header("")) -> Response:
            etag = f'W/"{self.version}"'
            headers = {"ETag": etag, "Cache-Control": "public, max-age=1"}
            if if_none_match == etag:
                return Response(status_code=304, headers=headers)
            return Response(json.dumps(self.status()), headers=headers, media_type="application/json")

        @app.post("/v1/events/{event}/room/resume")
        async def resume(event: str, body: Frame) -> Frame:
            buyer = body["token"].removeprefix("resume-")
            return {"buyer": buyer, "token": f"token-of-{buyer}"}

        @app.get("/v1/events/{event}/room/challenge")
        async def challenge(event: str) -> Frame:
            self.challenges += 1
            told = {"algorithm": "PBKDF2/SHA-256", "nonce": NONCE.hex(), "salt": SALT.hex(), "cost": 20}
            told |= {"keyLength": 32, "keyPrefix": self._key()[:16].hex()}
            return {"parameters": told, "signature": "00"}

        @app.get("/v1/events/{event}/room/admission")
        async def admission(event: str, shop: str, response: Response) -> Frame:
            if shop not in self.shops:
                response.status_code = 400
                return {"code": "unknown_shop", "detail": "The shop is none of those of ONSALE_SHOPS."}
            return {"token": "t.o.k", "shop": shop}

        @app.get("/v1/events/{event}/room/place")
        async def place(event: str, response: Response, authorization: str = Header()) -> Frame:
            found = self.places.get(authorization.removeprefix("Bearer token-of-"))
            if found is None:
                response.status_code = 404
                return {"code": "place_not_found"}
            return found
