"""Whatever buyers and an operator do, one after the other, the answers are those of a plain model.

Hypothesis makes up histories of a small house over the public API; `tests.model.reference` says what
must be answered. After each step the seat map must be the model's, and at the end the tables' laws hold.
Run it for long with `HYPOTHESIS_PROFILE=long`.
"""

from __future__ import annotations

import contextlib
import itertools
import time
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from store.plan import Area, Category, Plan, Seat, Section, number
from tests.allocator.house import check_laws
from tests.model.clients import WAIT_MS, WITHIN_SECONDS, Buyer, Http, Operator, Socket, socket
from tests.model.reference import Answer, Model, Want
from tests.model.stack import Stack, stack
from tests.profiles import searching

VENUE = "small-house"
BUYERS = ("ann", "bob", "cem")
UNDECIDED_MAX = 2
EXAMPLES = 14
STEPS = 70
_events = itertools.count(1)
_keys = itertools.count(1)
_seen: Counter[str] = Counter()
"""How often each kind of answer came: a model test that never sees one proves nothing about it."""
_running: list[Stack] = []
"""The stack the machines talk to: Hypothesis makes them, and hands nothing in."""


def house() -> Plan:
    """Ten seats in two categories and two sections, one row with an aisle, and two standing areas."""
    categories = [Category("Gold", 9000, "EUR", "#aa8800"), Category("Silver", 5000, "EUR", "#888888")]
    seats = [Seat(f"A-{n}", 0, "A", str(n), 0, float(n), 1.0) for n in range(4)]
    seats += [Seat(f"B-{n}", 0, "B", str(n), 1, float(n + 4 * (n > 1)), 2.0) for n in range(4)]
    seats += [Seat(f"C-{n}", 1, "C", str(n), 1, float(n), 3.0) for n in range(2)]
    areas = [Area("floor", "Floor", 1, 5, 0, 0, 1, 1), Area("bar", "Bar", 1, 2, 0, 0, 1, 1)]
    sections = [Section("Stalls"), Section("Circle")]
    return number("House", "EUR", categories, sections, seats, areas, focal=(2.0, 0.0), size=(9.0, 5.0))


SEATS = [seat.guid for seat in house().seats]
AREAS = ["floor", "bar"]

seat_names = st.lists(st.sampled_from([*SEATS, "Z-9"]), max_size=3, unique=True)
known_seats = st.lists(st.sampled_from(SEATS), min_size=1, max_size=2, unique=True)
bests = st.fixed_dictionaries(
    {"quantity": st.integers(1, 4)},
    optional={
        "section": st.sampled_from(["Stalls", "Stalls", "Circle", "Attic"]),
        "category": st.sampled_from(["Gold", "Silver", "Silver", "Paper"]),
    },
)
places = st.dictionaries(
    st.sampled_from([*AREAS, *AREAS, "cellar"]), st.integers(1, 3), min_size=1, max_size=2
)
named = st.builds(lambda seats: {"seats": seats}, known_seats)
best_ones = st.builds(lambda best: {"best": best}, bests)
standing = st.builds(lambda areas: {"areas": areas}, places)
together = st.fixed_dictionaries({"seats": seat_names}, optional={"best": bests, "areas": places}).filter(
    lambda want: any(want.values())
)
wants: st.SearchStrategy[Want] = named | best_ones | standing | together
buyers = st.sampled_from(BUYERS)
keys = st.sampled_from([f"r{n}" for n in range(12)])
ways = st.sampled_from(["http", "phone", "laptop"])
picks = st.integers(0, 30)
limits = st.sampled_from([4, 4, 2, 50])
ttls = st.sampled_from([480, 480, 3600, 25])


class OnSale(RuleBasedStateMachine):
    """One event, from its making to its end."""

    def __init__(self) -> None:
        super().__init__()
        self.stack = _running[-1]
        self.slug = f"model-{next(_events)}"
        _seen["event"] += 1
        self.closing = contextlib.ExitStack()
        self.http = self.closing.enter_context(contextlib.closing(Http(self.stack.port)))
        self.operator = Operator(self.http)
        self.sockets: dict[str, list[Socket]] = {}
        self.model: Model

    @initialize(limit=limits, ttl=ttls, gate=st.booleans(), is_open=st.sampled_from([True] * 7 + [False]))
    def made(self, limit: int, ttl: int, gate: bool, is_open: bool) -> None:
        status, event = self.operator.ask(
            "POST",
            "",
            {
                "slug": self.slug, "venue": VENUE, "hold_ttl_seconds": ttl, "seats_per_buyer_max": limit,
                "fast_gate": gate, "open": is_open,
            },
        )  # fmt: skip
        assert (status, event["state"]) == (201, "open" if is_open else "draft")
        self.closing.callback(lambda: self.stack.in_gateway(self._forget()))
        self.closing.callback(self.stack.end_allocator, self.slug)
        self.event_id = self.stack.allocate(self.slug)
        self.buyers = {buyer: Buyer(self.http, self.slug, buyer) for buyer in BUYERS}
        self.public = self.buyers["ann"]
        self.model = Model(self.public.plan(), seats_per_buyer_max=limit, ttl=ttl, gate=gate)
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
        change = {"seats_per_buyer_max": limit, "hold_ttl_seconds": ttl}
        status, event = self.operator.ask(
            "PATCH", f"/{self.slug}/policy", change | ({} if gate is None else {"fast_gate": gate})
        )
        assert status == 200
        assert (event["seats_per_buyer_max"], event["hold_ttl_seconds"]) == (limit, ttl)
        self.model.limit, self.model.ttl = limit, ttl
        if gate is not None:
            self.model.gates.add(gate)

    @precondition(lambda self: any(hold.state == "active" for hold in self.model.holds.values()))
    @rule()
    def holds_run_out(self) -> None:
        """A day passes, and the allocator is another one."""
        self.stack.make_holds_old(self.slug)
        self.model.run_out()

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
        _seen["step"] += 1
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
        right = self.model.ask(buyer, key, want, http=http, again=again, undecided_max=UNDECIDED_MAX)
        if http:
            answer = self.buyers[buyer].request(key, want, paused=paused)
        else:
            answer = self._socket(buyer, way).request(key, want, again=again, paused=paused)
        self._must_be(answer, right)
        self.model.took(buyer, key, want, answer)
        waits = self.model.find(buyer, key)
        if answer[0] == "undecided" and waits is not None and not http:
            self._waits_too(waits.sockets, way)

    def _must_be(self, answer: Answer, right: list[Answer]) -> None:
        _seen[" ".join(str(word) for word in answer[:2] if isinstance(word, str))] += 1
        if answer[:2] == ("decision", "held"):
            plain = {name: answer[2][name] for name in ("seats", "areas")}
            if answer not in right:  # a first decision: its hold's name and end are its own
                lasts = answer[2]["expires_at"] / 1000 - time.time()
                assert abs(lasts - self.model.ttl) < 2 * WITHIN_SECONDS, "it lasts as long as the policy says"
                assert answer[2]["hold"] not in self.model.holds
                answer = ("decision", "held", plain)
        assert answer in right

    def _change(self, buyer: str, word: str, hold_id: str, way: str) -> None:
        who = self.buyers[buyer] if way == "http" else self._socket(buyer, way)
        answer = who.change(word, hold_id)
        _seen[" ".join((word, *answer))] += 1
        assert answer == (self.model.confirm if word == "confirm" else self.model.release)(buyer, hold_id)

    def _move(self, word: str) -> None:
        right = self.model.move(word)
        status, body = self.operator.ask("POST", f"/{self.slug}/{word}")
        answer = ("ok", body["state"]) if status == 200 else ("error", body["code"])
        _seen[" ".join((word, *answer))] += 1
        assert answer == right
        if right[0] == "ok":
            self._until_the_gateway_knows()
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


@pytest.fixture
def running(engine_urls) -> Iterator[Stack]:
    with stack(engine_urls, bounds={"undecided_per_buyer_max": UNDECIDED_MAX}) as both:
        both.save_venue(VENUE, house())
        _running.append(both)
        yield both
        _running.remove(both)


def test_every_answer_is_the_models(running):
    _seen.clear()
    run_state_machine_as_test(OnSale, settings=searching(EXAMPLES, stateful_step_count=STEPS))
    missing = {
        "decision held", "decision taken", "decision sold_out", "decision limit_reached", "decision invalid",
        "decision conflict", "undecided", "not_queued", "error key_reused", "confirm hold paid",
        "confirm error hold_not_found", "release hold released", "release hold expired", "pause ok paused",
        "resume ok open",
    } - _seen.keys()  # fmt: skip
    assert not missing, f"never happened: {sorted(missing)}; what did: {dict(_seen)}"


def test_one_history_with_every_kind_of_answer(running):
    """What a random history seldom reaches is reached by this one, whatever the others do."""
    _seen.clear()
    sale = OnSale()
    try:
        sale.made(limit=4, ttl=480, gate=False, is_open=False)
        for step in _one_history(sale):
            step()
            sale.the_seat_map_is_the_models()
    finally:
        sale.teardown()
    missing = {
        "decision held", "decision taken", "decision sold_out", "decision limit_reached", "decision invalid",
        "decision conflict", "decision closed", "undecided", "error key_reused", "error event_closed",
        "error event_not_open", "error too_many_undecided", "confirm hold paid", "release hold released",
        "confirm error hold_not_found", "confirm error hold_released", "confirm error hold_expired",
        "release hold expired", "release error hold_paid", "release error hold_not_found", "pause ok paused",
        "resume ok open", "close ok closed", "pause error event_state", "close error event_state",
    } - _seen.keys()  # fmt: skip
    assert not missing, f"never happened: {sorted(missing)}; what did: {dict(_seen)}"


def _one_history(sale: OnSale) -> Iterator[Callable[[], None]]:
    def ask(buyer: str, key: str, way: str = "phone", again: bool = False, **want: Any) -> Callable[[], None]:
        return lambda: sale._ask(buyer, key, want, way, again)

    def change(word: str, number: int, buyer: str = "", way: str = "http") -> None:
        hold_id = list(sale.model.holds)[number]
        sale._change(buyer or sale.model.holds[hold_id].buyer, word, hold_id, way)

    def move(word: str) -> Callable[[], None]:
        return partial(sale._move, word)

    yield from (ask("ann", "r1", seats=["A-0"]), move("pause"), move("open"))
    yield from (ask("ann", "r1", seats=["A-0", "A-1"]), ask("ann", "r1", seats=["A-1", "A-0"], way="http"))
    yield from (ask("bob", "r1", seats=["A-0"]), ask("bob", "r2", seats=["Z-9"]))
    yield from (ask("bob", "r3", best={"quantity": 4}), ask("bob", "r4", areas={"bar": 3}))
    yield from (ask("ann", "r1", seats=["C-0"], again=True), ask("ann", "r1", seats=["C-0"], way="http"))
    yield from (ask("ann", "r2", best={"quantity": 3}), ask("cem", "r1", areas={"floor": 2}))
    yield ask("bob", "r5", seats=["C-1"], way="laptop")
    yield from (partial(change, "confirm", 0, "cem"), partial(change, "release", 0, "cem", "laptop"))
    yield from (partial(change, "confirm", 0), partial(change, "confirm", 0), partial(change, "release", 0))
    yield from (partial(change, "release", 1), partial(change, "confirm", 1), sale.holds_run_out)
    yield from (
        partial(change, "confirm", 2),
        partial(change, "release", 2),
        sale.operator_looks,
        move("pause"),
    )
    yield from (ask("bob", "p1", seats=["B-0"]), ask("bob", "p2", seats=["B-0"], way="http"))
    yield from (ask("bob", "p1", seats=["B-0"], way="laptop"), ask("bob", "p1", seats=["B-1"]))
    yield from (ask("bob", "p3", seats=["B-3"]), ask("cem", "p1", best={"quantity": 2}), move("resume"))
    yield from (move("pause"), ask("cem", "p2", seats=["B-3"]), move("close"), move("close"))
    yield ask("cem", "r9", seats=["B-3"])
