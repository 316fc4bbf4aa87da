"""Buyers and an operator of one event, as a machine whose steps Hypothesis chooses.

Each step asks the real one and the model, and the answers must be the same; after each step the seat map
must be the model's, and at the end the tables' laws hold.
"""

from __future__ import annotations

import contextlib
import itertools
import time
from collections import Counter
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from tests.allocator.house import check_laws
from tests.model.clients import WAIT_MS, WITHIN_SECONDS, Buyer, Http, Operator, Socket, socket
from tests.model.house import (
    BUYERS,
    SEATS,
    VENUE,
    at_most,
    best_ones,
    buyers,
    by_category,
    keys,
    limits,
    named,
    picks,
    standing,
    together,
    ttls,
    waiting,
    wants,
    ways,
)
from tests.model.reference import EXTENSION_MS, EXTENSIONS_MAX, OFFER_SECONDS, Answer, Model, OnList, Want
from tests.model.sold_by_hand import SoldByHand
from tests.model.stack import Stack

UNDECIDED_MAX = 2
_events = itertools.count(1)
_keys = itertools.count(1)
seen: Counter[str] = Counter()
"""How often each kind of answer came: a model test that never sees one proves nothing about it."""
running: list[Stack] = []
"""The stack the machines talk to: Hypothesis makes them, and hands nothing in."""


class OnSale(SoldByHand, RuleBasedStateMachine):
    """One event, from its making to its end."""

    def __init__(self) -> None:
        super().__init__()
        self.stack = running[-1]
        self.slug = f"model-{next(_events)}"
        self.closing = contextlib.ExitStack()
        self.http = self.closing.enter_context(contextlib.closing(Http(self.stack.port)))
        self.operator = Operator(self.http)
        self.seen = seen
        self.sockets: dict[str, list[Socket]] = {}
        self.model: Model

    @initialize(
        limit=limits, ttl=ttls, gate=st.booleans(), is_open=st.sampled_from([True] * 7 + [False]),
        by_category=by_category,
    )  # fmt: skip
    def made(
        self, limit: int, ttl: int, gate: bool, is_open: bool, by_category: dict[str, int] | None = None
    ) -> None:
        by_category = at_most(limit, by_category or {})
        status, event = self.operator.ask(
            "POST",
            "",
            {
                "slug": self.slug, "venue": VENUE, "hold_ttl_seconds": ttl, "seats_per_buyer_max": limit,
                "fast_gate": gate, "open": is_open, "extensions_max": EXTENSIONS_MAX,
                "extension_seconds": EXTENSION_MS // 1000, "offer_ttl_seconds": OFFER_SECONDS,
                "limits": by_category,
            },
        )  # fmt: skip
        assert (status, event["state"]) == (201, "open" if is_open else "draft")
        self.closing.callback(lambda: self.stack.in_gateway(self._forget()))
        self.closing.callback(self.stack.end_allocator, self.slug)
        self.event_id = self.stack.allocate(self.slug)
        self.buyers = {buyer: Buyer(self.http, self.slug, buyer) for buyer in BUYERS}
        self.public = self.buyers["ann"]
        terms: dict[str, Any] = {"seats_per_buyer_max": limit, "ttl": ttl, "gate": gate}
        self.model = Model(self.public.plan(), **terms, limits=by_category)
        self.model.state = event["state"]
        self.watcher = self._connected("eve", watch=True)
        for buyer in BUYERS:
            self.sockets[buyer] = [self._connected(buyer), self._connected(buyer)]
        self._until_the_gateway_knows()

    # --- buyers ---

    # Four rules, not one: a history leaves some rules out, and one without requests says little.

    @rule(buyer=buyers, key=keys, want=named, way=ways, again=st.booleans())
    def asks_for_seats(self, buyer: str, key: str, want: Want, way: str, again: bool) -> None:
        self._ask(buyer, key, want, way, again)

    @rule(buyer=buyers, key=keys, want=best_ones, way=ways, again=st.booleans())
    def asks_for_the_best(self, buyer: str, key: str, want: Want, way: str, again: bool) -> None:
        self._ask(buyer, key, want, way, again)

    @rule(buyer=buyers, key=keys, want=standing, way=ways, again=st.booleans())
    def asks_for_places(self, buyer: str, key: str, want: Want, way: str, again: bool) -> None:
        self._ask(buyer, key, want, way, again)

    @rule(buyer=buyers, key=keys, want=together, way=ways, again=st.booleans())
    def asks_for_all_at_once(self, buyer: str, key: str, want: Want, way: str, again: bool) -> None:
        self._ask(buyer, key, want, way, again)

    @rule(buyer=buyers, key=keys, want=waiting, way=ways, again=st.booleans())
    def asks_and_would_wait(self, buyer: str, key: str, want: Want, way: str, again: bool) -> None:
        self._ask(buyer, key, want, way, again)

    @precondition(lambda self: self.model.on_list())
    @rule(pick=picks, way=ways)
    def leaves_the_list(self, pick: int, way: str) -> None:
        """Whoever waits, and who does not any more."""
        one = self.model.list[pick % len(self.model.list)]
        self._leave(one.buyer, one.request_id, way)

    @precondition(
        lambda self: self.model.on_list() and any(h.state == "active" for h in self.model.holds.values())
    )
    @rule(pick=picks, way=ways)
    def gives_back_what_somebody_may_wait_for(self, pick: int, way: str) -> None:
        """A hold with a seat that is waited for by name, if there is one."""
        active = [hold_id for hold_id, hold in self.model.holds.items() if hold.state == "active"]
        named = {seat for one in self.model.on_list() for seat in one.want.get("seats", ())}
        wanted = [hold_id for hold_id in active if named & set(self.model.holds[hold_id].seats)] or active
        hold_id = wanted[pick % len(wanted)]
        self._change(self.model.holds[hold_id].buyer, "release", hold_id, way)

    @rule(buyer=buyers, key=keys, want=waiting, way=ways, pick=picks)
    def asks_for_what_somebody_has(self, buyer: str, key: str, want: Want, way: str, pick: int) -> None:
        """And would wait for it."""
        had = [seat for hold in self.model.holds.values() if hold.state == "active" for seat in hold.seats]
        one = {"seats": [had[pick % len(had)]], "waitlist": True} if had else want
        self._ask(buyer, key, one, way, again=False)

    @precondition(lambda self: self.model.list)
    @rule(buyer=buyers)
    def looks_at_the_list(self, buyer: str) -> None:
        seen["list " + " ".join(sorted({state for _, state, _ in self.model.entries(buyer)}))] += 1
        self._until(self.buyers[buyer].entries, self.model.entries(buyer))

    @precondition(lambda self: self.model.holds)
    @rule(pick=picks, buyer=st.none() | buyers, want=named | best_ones | standing, way=ways)
    def holder_moves(self, pick: int, buyer: str | None, want: Want, way: str) -> None:
        """To something else, with a hold of the buyer's, of somebody else's, or one that is over."""
        hold_id = list(self.model.holds)[pick % len(self.model.holds)]
        mover = buyer or self.model.holds[hold_id].buyer
        self._ask(mover, f"m{next(_keys)}", want | {"move": hold_id}, way, again=False)

    @precondition(lambda self: self.model.state == "paused")
    @rule(buyer=buyers, want=wants, way=ways)
    def asks_while_nothing_is_decided(self, buyer: str, want: Want, way: str) -> None:
        self._ask(buyer, f"p{next(_keys)}", want, way, again=False)

    @precondition(lambda self: self.model.decided or self.model.waiting)
    @rule(pick=picks, way=ways, again=st.booleans())
    def asks_the_same_again(self, pick: int, way: str, again: bool) -> None:
        """The same key and content: the same decision, in whatever order the seats are named."""
        known = [
            *((key, want) for key, (want, _) in self.model.decided.items()),
            *(((one.buyer, one.request_id), one.want) for one in self.model.waiting),
        ]
        (buyer, key), want = known[pick % len(known)]
        turned = want | ({"seats": want["seats"][::-1]} if want.get("seats") else {})
        self._ask(buyer, key, turned, way, again)

    @rule(
        buyer=buyers,
        way=ways,
        want=st.sampled_from([
            ({}, "nothing_asked"),
            ({"seats": []}, "nothing_asked"),
            ({"seats": ["A-0", "A-0"]}, "seat_twice"),
            ({"seats": "A-0"}, "bad"),
            ({"best": {"quantity": 0}}, "bad"),
            ({"best": {"quantity": 51}}, "bad"),
            ({"best": {"quantity": 1, "accessible": 2}}, "too_many_accessible"),
            ({"best": {"quantity": 13, "apart": True}}, "too_large_apart"),
            ({"best": {"quantity": 1, "price_min": 2, "price_max": 1}}, "prices_crossed"),
            ({"best": [{"quantity": 30}, {"quantity": 30}]}, "too_many_asked"),
            ({"seats": ["A-0"], "fallbacks": [{}]}, "nothing_asked"),
            ({"areas": {"floor": 1.5}}, "bad"),
            ({"seats": ["A-0"], "price": 1}, "bad"),
        ]),
    )  # fmt: skip
    def asks_nonsense(self, buyer: str, way: str, want: tuple[Want, str]) -> None:
        """Refused at the door: no key is used up, nothing changes."""
        if way == "http":
            answer = self.buyers[buyer].request("nonsense", want[0], paused=False)
        else:
            answer = self._socket(buyer, way).request("nonsense", want[0], again=False, paused=False)
        code = want[1] if want[1] != "bad" else "bad_body" if way == "http" else "bad_frame"
        assert answer == ("error", code)

    @rule(buyer=buyers, key=keys, way=ways)
    def looks(self, buyer: str, key: str, way: str) -> None:
        """What became of my request? Of somebody else's with that name: nothing is known."""
        if way == "http":
            answer = self.buyers[buyer].look(key)
        else:
            answer = self._socket(buyer, way).look(key)
            waits = self.model.find(buyer, key)
            if waits is not None:  # whoever asks for one that is undecided is told when it is decided
                self._waits_too(waits.sockets, way)
        assert answer == self.model.look(buyer, key)

    @precondition(lambda self: self.model.holds)
    @rule(word=st.sampled_from(["confirm", "release", "release"]), pick=picks, way=ways)
    def holder_confirms_or_releases(self, word: str, pick: int, way: str) -> None:
        hold_id = list(self.model.holds)[pick % len(self.model.holds)]
        self._change(self.model.holds[hold_id].buyer, word, hold_id, way)

    @precondition(lambda self: self.model.holds)
    @rule(pick=picks, way=ways, late=st.sampled_from([0, 0, 0, 1]), accessible=st.booleans())
    def holder_extends(self, pick: int, way: str, late: int, accessible: bool) -> None:
        """Knowing when the hold ends, or something else."""
        hold_id = list(self.model.holds)[pick % len(self.model.holds)]
        self._extend(hold_id, self.model.holds[hold_id].ends_ms - late, accessible, way)

    @precondition(lambda self: self.model.holds)
    @rule(
        pick=picks, number=picks, way=ways, of=st.sampled_from(["right", "none", "wrong"]), more=st.booleans()
    )
    def holder_gives_some_back(self, pick: int, number: int, way: str, of: str, more: bool) -> None:
        """One seat or place of it, perhaps with one that it has not."""
        hold_id = list(self.model.holds)[pick % len(self.model.holds)]
        hold = self.model.holds[hold_id]
        named = [*hold.seats, *hold.areas] or [SEATS[0]]
        one = named[number % len(named)]
        seats, areas = ([one], {}) if one in SEATS else ([], {one: 1})
        if more and number % 3 == 0:
            seats = sorted({*seats, SEATS[number % len(SEATS)]})
        count = {"right": hold.quantity or None, "none": None, "wrong": hold.quantity + 1}[of]
        self._give_some(hold_id, seats, areas, count, way)

    @rule(word=st.sampled_from(["confirm", "release"]), buyer=buyers, pick=picks, way=ways)
    def somebody_else_confirms_or_releases(self, word: str, buyer: str, pick: int, way: str) -> None:
        """Holds of others, and such as there are not, look alike."""
        others = [hold_id for hold_id, hold in self.model.holds.items() if hold.buyer != buyer]
        others += ["1", "9999999999999999999"]
        self._change(buyer, word, others[pick % len(others)], way)

    # --- the operator, and time ---

    @rule(word=st.sampled_from(["open", "pause", "resume"]))
    def operator_says(self, word: str) -> None:
        self._move(word)

    @precondition(lambda self: self.model.state in ("draft", "paused"))
    @rule()
    def operator_opens(self) -> None:
        self._move("open")

    @precondition(lambda self: self.model.state != "draft")
    @rule(pick=picks)
    def operator_closes(self, pick: int) -> None:
        if pick == 30:  # it is for good: seldom
            self._move("close")

    @precondition(lambda self: self.model.decided)
    @rule(limit=limits, ttl=ttls, gate=st.none() | st.booleans())
    def operator_changes_policy(self, limit: int, ttl: int, gate: bool | None) -> None:
        by_category = at_most(limit, {name: most + 1 for name, most in self.model.limits.items()})
        change = {"seats_per_buyer_max": limit, "hold_ttl_seconds": ttl, "limits": by_category}
        status, event = self.operator.ask(
            "PATCH", f"/{self.slug}/policy", change | ({} if gate is None else {"fast_gate": gate})
        )
        assert status == 200
        assert (event["seats_per_buyer_max"], event["hold_ttl_seconds"]) == (limit, ttl)
        assert event["limits"] == by_category
        self.model.limit, self.model.ttl, self.model.limits = limit, ttl, by_category
        if gate is not None:
            self.model.gates.add(gate)
        self._offers_are_made()

    @precondition(lambda self: any(hold.state == "active" for hold in self.model.holds.values()))
    @rule()
    def holds_run_out(self) -> None:
        """A day passes, and the allocator is another one."""
        self.stack.make_holds_old(self.slug)
        self.model.run_out()
        self._offers_are_made()

    @rule()
    def operator_looks(self) -> None:
        """What is held, sold and free adds up, for seats and for every area."""
        _, body = self.operator.ask("GET", f"/{self.slug}")
        held, sold = self.model.count("h"), self.model.count("s")
        free = len(SEATS) - held - sold
        assert body["seats"] == {"available": free, "held": held, "sold": sold, "blocked": 0}
        for area in body["areas"]:
            states = ("active", "paid")
            held, sold = (self.model.places(area["guid"], state) for state in states)
            assert (area["held"], area["sold"], area["blocked"]) == (held, sold, 0)
            assert area["held"] + area["sold"] + area["blocked"] + area["free"] == area["capacity"]

    # --- after each step ---

    @invariant()
    def the_seat_map_is_the_models(self) -> None:
        if hasattr(self, "event_id"):
            self._until(self.public.seats, (self.model.letters(), self.model.places_free()))

    def teardown(self) -> None:
        with self.closing:
            if hasattr(self, "event_id"):
                self._decisions_stand()
                self._the_watcher_saw_it()
                self._until(self._facts_waiting, 0)
                check_laws(self.stack.urls.database_url, self.event_id)

    # --- how ---

    def _ask(self, buyer: str, key: str, want: Want, way: str, again: bool) -> None:
        http, paused = way == "http", self.model.state == "paused"
        # else the gateway may find the old decision in the ledger at any moment of the pause
        again = again or (paused and (buyer, key) in self.model.decided)
        right = self.model.ask(buyer, key, want, http=http, again=again, undecided_max=UNDECIDED_MAX)
        if http:
            answer = self.buyers[buyer].request(key, want, paused=paused)
        else:
            answer = self._socket(buyer, way).request(key, want, again=again, paused=paused)
        self._must_be(answer, right)
        self.model.took(buyer, key, want, answer)
        self._offers_are_made()
        waits = self.model.find(buyer, key)
        if answer[0] == "undecided" and waits is not None and not http:
            self._waits_too(waits.sockets, way)

    def _must_be(self, answer: Answer, right: list[Answer]) -> None:
        seen[" ".join(str(word) for word in answer[:2] if isinstance(word, str))] += 1
        if answer not in right and answer[:2] == ("decision", "held"):  # its hold's name and end are its own
            result = answer[2]
            seen["moved"] += "moved" in result
            self._lasts(result)
            assert result["hold"] not in self.model.holds
            plain = {name: value for name, value in result.items() if name not in ("hold", "expires_at")}
            answer = ("decision", "held", plain)
        elif answer not in right and answer[:2] == ("decision", "waitlisted"):
            assert all(answer[2]["wait"] != one.wait for one in self.model.list)
            plain = {name: value for name, value in answer[2].items() if name != "wait"}
            answer = ("decision", "waitlisted", plain)
        assert answer in right

    def _lasts(self, result: dict[str, Any], seconds: int = 0) -> None:
        """A new hold lasts as long as the policy says; one instead of another as long as that one."""
        old = self.model.holds.get(result.get("moved", ""))
        if old is None:
            lasts = result["expires_at"] / 1000 - time.time()
            assert abs(lasts - (seconds or self.model.ttl)) < 2 * WITHIN_SECONDS
        else:
            assert result["expires_at"] >= old.ends_ms if old.paused else result["expires_at"] == old.ends_ms

    def _offers_are_made(self) -> None:
        """To whom the model says, in its order; and nobody else, or the seat map would differ."""
        for one, right in self.model.due():
            offer = self._offer_to(one)
            seen["offer"] += 1
            plain = {name: value for name, value in offer.items() if name not in ("hold", "expires_at")}
            assert plain == right
            self._lasts(offer, OFFER_SECONDS)
            self.model.offered(one, offer)

    def _offer_to(self, one: OnList) -> dict[str, Any]:
        end = time.monotonic() + WITHIN_SECONDS
        while True:
            told = {request_id: what for request_id, _, what in self.buyers[one.buyer].entries()}
            if isinstance(offer := told.get(one.request_id), dict):
                return offer
            assert time.monotonic() < end, f"nothing was offered to {one}; {told}"

    def _leave(self, buyer: str, request_id: str, way: str) -> None:
        who = self.buyers[buyer] if way == "http" else self._socket(buyer, way)
        answer = who.leave(request_id)
        seen["leave left" if answer[0] == "left" else f"leave error {answer[1]}"] += 1
        assert answer == self.model.leave(buyer, request_id)
        self._offers_are_made()

    def _extend(self, hold_id: str, ends_ms: int, accessible: bool, way: str) -> None:
        buyer = self.model.holds[hold_id].buyer
        self._change(buyer, "extend", hold_id, way, ends_ms=ends_ms, accessible=accessible)

    def _give_some(
        self, hold_id: str, seats: list[str], areas: dict[str, int], of: int | None, way: str
    ) -> None:
        buyer = self.model.holds[hold_id].buyer
        self._change(buyer, "release", hold_id, way, seats=seats, areas=areas, of=of)

    def _change(self, buyer: str, word: str, hold_id: str, way: str, **more: Any) -> None:
        who = self.buyers[buyer] if way == "http" else self._socket(buyer, way)
        said = {name: value for name, value in more.items() if value is not None}
        names = {"ends_ms": "expires_at", "of": "quantity"}
        answer = who.change(
            word, hold_id, {names.get(name, name): value for name, value in said.items()} or None
        )
        some = "some " if "seats" in more else ""
        seen[some + " ".join((word, *answer[:2]))] += 1
        change = self.model.release_some if some else getattr(self.model, word)
        right = change(buyer, hold_id, **more)
        if len(right) > 2:
            assert answer[:2] == right[:2], (answer, right)
            self.model.told(hold_id, answer[2])
            assert answer[3:] == right[3:]
            assert right[2] in (None, answer[2])
        else:
            assert answer == right
        self._offers_are_made()

    def _move(self, word: str) -> None:
        right = self.model.move(word)
        status, body = self.operator.ask("POST", f"/{self.slug}/{word}")
        answer = ("ok", body["state"]) if status == 200 else ("error", body["code"])
        seen[" ".join((word, *answer))] += 1
        assert answer == right
        if right[0] == "ok":
            self._until_the_gateway_knows()
            self._offers_are_made()
            if self.model.state != "paused":
                self._what_waited_is_decided()

    def _what_waited_is_decided(self) -> None:
        """In the order it came, and everyone who waits is told."""
        waited, self.model.waiting = self.model.waiting, []
        for one in waited:
            right = self.model.decide(one.buyer, one.request_id, one.want)
            answers = [self.sockets[one.buyer][number].decided(one.request_id) for number in one.sockets]
            if not answers or right[1] != "conflict":
                answers.append(self.buyers[one.buyer].look(one.request_id, wait_ms=WAIT_MS))
            if (
                right[1] == "conflict" and not one.sockets
            ):  # only its own arrival is told so; the key's stands
                right = self.model.decided[one.buyer, one.request_id][1]
            self._must_be(answers[0], [right])
            assert all(answer == answers[0] for answer in answers)
            self.model.took(one.buyer, one.request_id, one.want, answers[0])
            self._offers_are_made()

    def _decisions_stand(self) -> None:
        for buyer, key in self.model.decided:
            answer = self.buyers[buyer].look(key)
            assert answer == self.model.look(buyer, key)
            for other in set(BUYERS) - {buyer}:
                if self.model.find(other, key) is None and (other, key) not in self.model.decided:
                    assert self.buyers[other].look(key) == ("error", "unknown_request")

    def _the_watcher_saw_it(self) -> None:
        """Who applied every change to the map there was in the beginning has the map there is."""
        letters, places = list("a" * len(SEATS)), list(self.model.areas.values())
        while ("".join(letters), places) != (self.model.letters(), self.model.places_free()):
            frame = self.watcher.receive()
            assert frame["type"] == "seats", frame
            for seat, letter in frame["changed"]:
                letters[seat] = letter
            for area, free in frame["areas"]:
                places[area] = free

    def _connected(self, buyer: str, *, watch: bool = False) -> Socket:
        return self.closing.enter_context(socket(self.stack.port, self.slug, buyer, watch=watch))

    def _socket(self, buyer: str, way: str) -> Socket:
        return self.sockets[buyer][way == "laptop"]

    def _waits_too(self, sockets: list[int], way: str) -> None:
        number = int(way == "laptop")
        if number not in sockets:
            sockets.append(number)

    def _until_the_gateway_knows(self) -> None:
        self._until(lambda: self.public.event()["state"], self.model.state)

    def _facts_waiting(self) -> Any:
        return self.operator.ask("GET", f"/{self.slug}")[1]["progress"]["facts_waiting"]

    def _until(self, look: Any, right: object) -> None:
        """Look until it is what it must become; each look is a round trip."""
        end = time.monotonic() + WITHIN_SECONDS
        while (seen := look()) != right:
            assert time.monotonic() < end, f"{seen} did not become {right}"

    async def _forget(self) -> None:
        """The gateway's part of this event ends: a test has more events than one gateway sells."""
        events = self.stack.served.runtime.events
        loaded = events._loaded.pop(self.slug, None)
        if loaded is not None:
            await loaded.stop()
