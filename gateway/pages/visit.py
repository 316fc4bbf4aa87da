"""One call of a plain page: whose it is, what there is to be seen, and what its forms do."""

from __future__ import annotations

import asyncio
from typing import Final
from urllib.parse import unquote

import msgspec
from fastapi import Request
from msgspec import UNSET

from gateway.addresses import address_of
from gateway.buyers.decode import CODE_LENGTH_MAX, JoinBody, Wish
from gateway.events import EventRuntime
from gateway.pages import wishes
from gateway.pages.line_asked import ANSWER_SECONDS_MAX, PUT_ASIDE, AskedFor, answer
from gateway.pages.seen import Seen, house_of
from gateway.problems import Unauthorized
from gateway.room import acting, shops
from gateway.room.patience import TICKET_LENGTH_MAX
from gateway.room.protection import tokens_of
from gateway.runtime import Runtime
from store.errors import BadRequest, NotFound
from store.room.words import LIVE, BallotState, Place, PlaceState
from store.wire import decode_want
from store.words import Want

TOKEN, ASKED, WAIT, BACK = "onsale-line", "onsale-asked", "onsale-wait", "onsale-back"
"""Cookies: who they are, what they asked for, since when they wait in place of a proof, and the address of a
shop elsewhere that they go back to."""
END_DIGITS_MAX: Final = 15


class Visit:
    """One call: whose, at which event."""

    def __init__(self, request: Request, event: EventRuntime) -> None:
        self.request = request
        self.runtime: Runtime = request.app.state.runtime
        self.event = event
        self.room = acting.room_of(event)
        self.buyer = ""
        peer = request.client and (request.client.host, request.client.port)
        self.address = address_of(peer, request.scope["headers"], self.runtime.settings.trusted_proxies)
        self.asked = request.cookies.get(ASKED, "")[:64]
        self.ticket = request.cookies.get(WAIT, "")[:TICKET_LENGTH_MAX]
        self.back = shops.returning(self.runtime.settings.room, unquote(request.cookies.get(BACK, "")))
        self.onward = ""
        """Where who has begun goes, with their admission."""

    async def recognise(self) -> None:
        token = self.request.cookies.get(TOKEN, "")
        if token:
            try:
                self.buyer = (await self.runtime.tokens.verify(token)).id
            except Unauthorized:
                self.buyer = ""  # run out: comes in anew

    async def place(self) -> Place | None:
        try:
            return await self.room.look_up(self.buyer) if self.buyer else None
        except NotFound:
            return None

    async def seen(self, form: str = "", typed: dict[str, str] | None = None, trouble: str = "") -> Seen:
        """How things stand. `form`: what is to be filled in; `typed`, `trouble`: of one that was refused."""
        place = await self.place()
        told = self.room.shown() or await self.room.freshened()
        room = msgspec.json.decode(told.body)
        room["proof"] = self._must_prove()
        asked = await self._asked_for().look()
        answers = self._asked_for().is_the_ballots and asked is not None
        is_over = asked is not None and asked.stage not in ("asking", "held", "paid")
        row, plan = self.event.row, self.event.plan
        wants_house = form == "wish" or (place is not None and place.begun_at is not None)
        return Seen(
            event=row.slug,
            name=row.name,
            room=room,
            place=None if place is None else msgspec.json.decode(self.room.place_body(place)),
            signed_in=bool(self.buyer) or self.runtime.settings.demo,
            asked=None if answers and is_over else asked,
            answer=asked if answers and is_over else None,
            wish=await self._wish(place),
            plan=plan,
            house=house_of(plan, self.event.seats.stock.kinds, row.price_terms, row.seats_per_buyer_max)
            if wants_house
            else None,
            form=form,
            typed=typed or {},
            still="still" in self.request.query_params,
            human_check=self.runtime.guard.human.on,
            wait_left=self._wait_left(),
            wait_new=self.runtime.guard.patience.wait_of(self.address),
            trouble=trouble,
            shop=self.back.host if self.back else "",
        )

    def _asked_for(self) -> AskedFor:
        return AskedFor(self.runtime, self.event, self.buyer, self.asked)

    async def _wish(self, place: Place | None) -> Want | None:
        waits = place is not None and place.state is PlaceState.WAITING
        if not waits or self.room.told.ballot is not BallotState.FILING:
            return None
        filed = await acting.wish(self.event, self.runtime.pool, self.buyer, Wish())
        return None if filed.want is None else decode_want(filed.want)

    # --- waiting in place of a proof ---

    def _must_prove(self) -> bool:
        return self.runtime.guard.proof_required(self.room.event_id, self.room.now.room.terms)

    def _wait_left(self) -> int | None:
        if not self.buyer or not self.ticket:
            return None
        row, patience = self.event.row, self.runtime.guard.patience
        return patience.left(row.slug, self.buyer, self.address, self.ticket)

    def _wait(self) -> None:
        """Begin to wait, unless that is done already."""
        if self._wait_left() is None:
            asker = acting.Asker(self.buyer, self.address)
            asking = acting.asking_of(self.event, asker, JoinBody())
            self.ticket = self.runtime.guard.patience_for(asking)

    # --- what forms do ---

    async def act(self, act: str, form: dict[str, str]) -> bool:
        """Whether it is done; False: what was typed is shown once more, to be sent later."""
        pool = self.runtime.pool
        if act == "again":
            self.asked = PUT_ASIDE
        elif act == "join":
            return await self._join(form)
        elif act == "wait":
            self._wait()
        elif act == "begin":
            self._go_on(await acting.begin(self.event, pool, self.buyer))
        elif act == "more":
            end = form.get("end", "")
            if not (end.isdecimal() and len(end) <= END_DIGITS_MAX):
                raise BadRequest("bad_end", "Say when your time ends, as this page does.")
            await acting.more_time(self.event, pool, self.buyer, int(end))
        elif act == "leave":
            await acting.leave(self.event, pool, self.buyer)
        elif act in ("wish", "withdraw"):
            want = self._wanted(form) if act == "wish" else None
            await acting.wish(self.event, pool, self.buyer, Wish(want))
        else:
            await self._ask(act, form)
        return True

    def _go_on(self, place: Place) -> None:
        if self.back is not None:
            admission = tokens_of(self.request).of(self.event.row.slug, place, self.back.shop)
            self.onward = shops.with_admission(self.back.address, admission.token)

    async def _join(self, form: dict[str, str]) -> bool:
        body = _join_body(form)
        place = await self.place()
        if (place is None or place.state not in LIVE) and self._must_prove():
            self._wait()
            if self._wait_left():
                return body.code is UNSET and body.email is UNSET  # without them the page renews itself
        joined: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        acting.ask_to_join(
            self.runtime,
            self.event,
            acting.Asker(self.buyer, self.address, self.ticket or None),
            body,
            lambda _, error: answer(joined, error),
        )
        await asyncio.wait_for(joined, ANSWER_SECONDS_MAX)
        self.ticket = ""
        return True

    def _wanted(self, form: dict[str, str]) -> Want:
        wished = wishes.read(form, self.event.plan, self.event.row.seats_per_buyer_max)
        return wishes.want_of(wished, self.event.plan)

    async def _ask(self, act: str, form: dict[str, str]) -> None:
        asked = self._asked_for()
        try:
            if act == "hold":
                await asked.ask(form)
            else:
                await asked.settle(act)
        finally:
            self.asked = asked.id


def _join_body(form: dict[str, str]) -> JoinBody:
    """What somebody joins with; raises `BadRequest` for what cannot be meant."""
    code, email = form.get("code", "").strip(), form.get("email", "").strip()
    if len(code) > CODE_LENGTH_MAX or (form.get("form") == "code" and not code):
        raise BadRequest("code_not_valid", "Type your code as it stands in your invitation.")
    given = {"code": code} if code else {}
    if not email and form.get("form") != "mail":
        return msgspec.convert(given, JoinBody)
    try:
        return msgspec.convert(given | {"email": email}, JoinBody)
    except msgspec.ValidationError:
        story = "That is no address mail can be sent to. It looks like ann@example.org."
        raise BadRequest("email_not_valid", story) from None
