"""A buyer's connection: what it asks, hears and asks again."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from bench.evidence import Ask, Seen, read_frame
from gateway.problems import KeyReused
from store.errors import OnsaleError
from store.lookups import Decided
from tests.simulation.gateways import Gateway
from tests.simulation.postgres import ONE

if TYPE_CHECKING:
    from tests.simulation.people import People

ASK_AGAIN_SECONDS = 1.0
PATIENCE_SECONDS = 12.0


class Client:
    """A buyer's connection: remembers all it saw, and asks again until it is answered."""

    def __init__(self, people: People, buyer: str, gateway: Gateway) -> None:
        self.people = people
        self.world = people.world
        self.buyer = buyer
        self.gateway = gateway
        self.seen = Seen(buyer)
        self.waiting: dict[str, Ask] = {}
        self.asks: dict[str, Ask] = {}
        self.prompt = self.world.chance(0.5)

    # --- asking ---

    def ask(self, request_id: str, want: bytes, sent_ns: Sequence[int] = ()) -> None:
        """`sent_ns`: when somebody else sent this key before."""
        ask = Ask(request_id, want.decode(), list(sent_ns))
        self.seen.asks.append(ask)
        self.asks[request_id] = self.waiting[request_id] = ask
        self._send(ask, again=False)
        self._lose_patience(ask)

    def _lose_patience(self, ask: Ask) -> None:
        """Who hears nothing for long asks again: a gateway tells at most sixteen who wait for one key."""

        def still_waiting() -> None:
            if self.waiting.get(ask.request_id) is ask:
                self.ask_again(ask)
                self._lose_patience(ask)

        self.world.after(PATIENCE_SECONDS, still_waiting)

    def _send(self, ask: Ask, *, again: bool) -> None:
        ask.sent_ns.append(self.world.now_us * 1000)
        gateway = self.gateway
        if gateway.host.dead:
            self.world.after(ASK_AGAIN_SECONDS, lambda: self.ask_again(ask))
        else:
            gateway.loop.call_soon(lambda: self._submit(gateway, ask, again))

    def _submit(self, gateway: Gateway, ask: Ask, again: bool) -> None:
        """As `gateway.buyers.socket` takes a request."""
        state = self.people.database.rows["event"][ONE].state
        gateway.sees(state)
        if again and gateway.intake.find(self.buyer, ask.request_id) is None:
            gateway.recall.ask(
                self.buyer, ask.request_id, lambda *found: self._looked_up(gateway, ask, found)
            )
            return
        if not again and state not in ("open", "paused"):
            self._may_not(ask, "event_closed")
            return
        self._at_door(gateway, ask)

    def _at_door(self, gateway: Gateway, ask: Ask, *, other_content: bool = False) -> None:
        """Where there is a waiting room, only who is inside asks for seats. `other_content`: that is what the
        key is decided with, so who may not ask is not told of a conflict either."""
        room = gateway.room
        if room is None or room.lets_in(self.buyer):
            self._take(gateway, ask)
        else:
            room.let_in(self.buyer, lambda no: self._let_in(gateway, ask, no, other_content))

    def _let_in(self, gateway: Gateway, ask: Ask, refused: OnsaleError | None, other_content: bool) -> None:
        code = getattr(refused, "code", "")
        self.world.counters[f"room_{code or 'let_in'}"] += 1
        if code == "not_admitted" and other_content:
            self._give_up(ask, code)
        elif code == "not_admitted":
            self._may_not(ask, code)
        elif refused is not None:
            self.refused(ask.request_id, refused)
        else:
            self._take(gateway, ask)

    def _take(self, gateway: Gateway, ask: Ask) -> None:
        try:
            gateway.intake.submit(self.buyer, ask.request_id, ask.want.encode(), self)
        except KeyReused:
            self.world.counters["key_reused"] += 1
            self._give_up(ask, "key_reused")
        except OnsaleError as error:
            self.refused(ask.request_id, error)

    def _looked_up(
        self, gateway: Gateway, ask: Ask, found: tuple[Decided | None, OnsaleError | None]
    ) -> None:
        decided, _ = found
        if decided is not None and decided.want == ask.want:
            self.decided(decided.frame)
            return
        if self.people.database.rows["event"][ONE].state not in ("open", "paused"):
            if decided is not None:  # its key is decided with other content; no sale, no conflict either
                self._give_up(ask, "event_closed")
            else:
                self._may_not(ask, "event_closed")
            return
        self._at_door(gateway, ask, other_content=decided is not None)

    def _may_not(self, ask: Ask, code: str) -> None:
        """Told so; who was accepted before asks what became of it, unless the stream lost it."""
        if not ask.accepted or (self.buyer, ask.request_id) in self.people.stream.lost_keys:
            self._give_up(ask, code)
        else:
            self.world.after(ASK_AGAIN_SECONDS, lambda: self.ask_again(ask))

    def _give_up(self, ask: Ask, code: str) -> None:
        ask.errors.append((self.world.now_us * 1000, code))
        if ask.accepted:
            self.people.refused.add((self.buyer, ask.request_id))
        self.seen.stayed = False
        self.waiting.pop(ask.request_id, None)

    def ask_again(self, ask: Ask) -> None:
        """With the same key, at a gateway that lives."""
        if ask.request_id not in self.waiting:
            return
        if self.gateway.host.dead:
            found = self.people.a_gateway()
            if found is None:
                self.world.after(ASK_AGAIN_SECONDS, lambda: self.ask_again(ask))
                return
            self.gateway = found
        self.world.note(self.buyer, f"asks again for {ask.request_id} at {self.gateway.name}")
        self._send(ask, again=True)

    def gateway_died(self, gateway: Gateway) -> None:
        if self.gateway is gateway:
            if not self.world.calm and self.world.chance(0.25):
                self.seen.stayed = False
                self.people.left.update((self.buyer, request_id) for request_id in self.waiting)
                self.waiting.clear()
            for ask in list(self.waiting.values()):
                delay = self.world.random.uniform(0.1, 2.0)
                self.world.after(delay, partial(self.ask_again, ask))

    # --- what a gateway says (`gateway.buyers.pending.Waiter`) ---

    def decided(self, frame: bytes) -> None:
        told = read_frame(frame)
        ask = self.asks.get(told.id)
        if ask is None:
            self.seen.strange.append(frame)
            return
        ask.decisions.append((self.world.now_us * 1000, frame))
        if self.waiting.pop(told.id, None) is not None and told.outcome == "held":
            self.people.has_hold(self, told.result)

    def accepted(self, request_id: str, arrival: str) -> None:
        ask = self.asks.get(request_id)
        if ask is not None:
            ask.accepted.append((self.world.now_us * 1000, arrival))

    def delayed(self, request_id: str) -> None:
        self.world.counters["delayed"] += 1

    def refused(self, request_id: str, error: OnsaleError) -> None:
        ask = self.waiting.get(request_id)
        if ask is not None:
            ask.errors.append((self.world.now_us * 1000, getattr(error, "code", "unavailable")))
            self.world.counters["refused"] += 1
            self.world.after(ASK_AGAIN_SECONDS, lambda: self.ask_again(ask))


def all_seen(clients: Sequence[Client]) -> list[Seen]:
    """For the checker.

    A conflict is of an arrival, and a request whose append got no reply may have had two; which of them
    its client is told does not matter, so the checker takes it for asked again.
    """
    for client in clients:
        for ask in client.seen.asks:
            if any(read_frame(frame).outcome == "conflict" for _, frame in ask.decisions):
                ask.sent_ns.append(ask.sent_ns[-1])
    return [client.seen for client in clients]
