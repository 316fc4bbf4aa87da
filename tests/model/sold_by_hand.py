"""What an operator sells by hand and takes back, as steps of the model test's machine."""

from __future__ import annotations

from collections import Counter
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from tests.model.clients import Operator
from tests.model.house import AREAS, buyers, known_seats, picks
from tests.model.reference import Model

SAID = {"who": "Olga", "why": "box office"}
kinds = st.sampled_from(["complimentary", "box_office"])


class SoldByHand:
    """Steps beside those of buyers; the machine has the rest."""

    slug: str
    operator: Operator
    model: Model
    seen: Counter[str]

    def _offers_are_made(self) -> None:
        raise NotImplementedError

    @rule(buyer=buyers, seats=known_seats, places=st.integers(0, 3), kind=kinds, pick=picks)
    def operator_sells(self, buyer: str, seats: list[str], places: int, kind: str, pick: int) -> None:
        """Whatever that buyer may have: it counts for no limit."""
        areas = {AREAS[pick % len(AREAS)]: places} if places else {}
        self._sell(buyer, seats, areas, kind, f"sale {pick % 3}")

    @precondition(lambda self: self.model.sales)
    @rule(pick=picks)
    def operator_sells_the_same_again(self, pick: int) -> None:
        """The order that stands is the answer; one that was taken back is made anew, if it can be."""
        buyer, seats, areas, kind, reference = list(self.model.sales)[pick % len(self.model.sales)]
        self._sell(buyer, list(seats), dict(areas), kind, reference)

    @precondition(lambda self: self.model.holds)
    @rule(pick=picks, part=st.booleans(), of=st.sampled_from(["right", "right", "none", "wrong"]))
    def operator_takes_back(self, pick: int, part: bool, of: str) -> None:
        """An order, whole or a seat or place of it; seldom something that is none."""
        orders = [hold_id for hold_id, hold in self.model.holds.items() if hold.state == "paid"]
        among = orders if orders and pick % 5 else [*self.model.holds, "1"]
        hold_id = among[pick % len(among)]
        hold = self.model.holds.get(hold_id)
        seats, areas = (hold.seats[:1], dict(hold.areas)) if hold else ([], {})
        areas = {} if seats else dict.fromkeys(areas, 1)
        quantity = hold.quantity if hold else 1
        count = {"right": quantity or None, "none": None, "wrong": quantity + 1}[of]
        self._take_back(hold_id, seats if part else [], areas if part else {}, count)

    def _sell(self, buyer: str, seats: list[str], areas: dict[str, int], kind: str, reference: str) -> None:
        asked: dict[str, Any] = {"to": buyer, "seats": seats, "areas": areas, "kind": kind}
        said = (buyer, tuple(sorted(seats)), tuple(sorted(areas.items())), kind, reference)
        right = self.model.sell(said, seats, areas)
        status, body = self.operator.ask(
            "POST", f"/{self.slug}/sales", SAID | asked | {"reference": reference}
        )
        self.seen[f"sell {right[0]} {'' if status == 200 else body['code']}".strip()] += 1
        if right[0] == "error":
            assert (status, body["code"]) == (409, right[1])
            return
        assert (status, body["buyer"], body["kind"], body["state"]) == (200, buyer, kind, "paid")
        if right[1]:
            standing = self.model.holds[right[1]]
            assert body["hold"] == right[1]
            assert (sorted(body["seats"]), body["areas"]) == (sorted(standing.seats), standing.areas)
        else:
            assert (sorted(body["seats"]), body["areas"]) == (sorted(seats), areas)
            self.model.sold(said, buyer, body)

    def _take_back(self, hold_id: str, seats: list[str], areas: dict[str, int], of: int | None) -> None:
        asked: dict[str, Any] = {"seats": seats, "areas": areas} | ({} if of is None else {"quantity": of})
        right = self.model.take_back(hold_id, seats, areas, of)
        status, body = self.operator.ask("POST", f"/{self.slug}/orders/{hold_id}/return", SAID | asked)
        self.seen["take back " + (" ".join(map(str, right[:2])))] += 1
        if right[0] == "error":
            assert (status >= 400, body["code"]) == (True, right[1])
            return
        assert (status, body["hold"], body["state"]) == (200, hold_id, right[1])
        assert (sorted(body["seats"]), body["areas"]) == (right[2], right[3])
        self._offers_are_made()
