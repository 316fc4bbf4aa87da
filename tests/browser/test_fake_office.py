"""What the fake office answers has the shapes the gateway answers: its types take it, and give it back."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from store.audit import AuditRow
from store.calling_off.state import CalledOff
from store.offered import Offered
from store.payments.settlement import Settlement
from store.prices import PriceTerms
from store.room.standing import Standing
from store.sales import Order
from store.subscribers import show
from store.tours import Date, Tour
from tests.browser import fake_office

STORY, HOUSE = fake_office.webhook_story(), fake_office.house()
MADE: list[tuple[type, list[Any]]] = [
    (Settlement, [fake_office.settlement()]),
    (Order, [fake_office.order(seats=["stalls-A-3"], areas={"floor": 2})]),
    (CalledOff, [fake_office.called_off()]),
    (Standing, [fake_office.room(accent="#8a1c5b")]),
    (show.Subscriber, fake_office.webhooks()["webhooks"]),
    (show.Shown, [STORY]),
    (Tour, [fake_office.tour()]),
    (Date, fake_office.beside()["tours/nightfall"]["events"]),
    (AuditRow, fake_office.by_hand()["audit"]),
    (Offered, [fake_office.offered(HOUSE), fake_office.not_begun(HOUSE)]),
    (PriceTerms, [fake_office.open_to_all()["demo/prices"]["terms"]]),
]


@pytest.mark.parametrize(("kind", "made"), MADE, ids=[kind.__name__ for kind, _ in MADE])
def test_a_made_up_answer_is_one_the_gateway_could_give(kind: type, made: list[Any]) -> None:
    for one in made:
        assert msgspec.to_builtins(msgspec.convert(one, kind, strict=False)) == one
