"""What a plain page of the waiting room shows: how things stand for one buyer, as its parts take it. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Struct

from notifier.letters import money
from store.plan import Plan
from store.prices import PriceTerms, of_categories
from store.words import Want


class Asked(Struct, frozen=True):
    """What became of the seats that were asked for, or wished for in the ballot."""

    stage: str
    """asking, held, paid, gone, or why nothing was given."""
    seats: tuple[str, ...] = ()
    minutes: int = 0
    pay_url: str = ""
    costs: bool = False
    result: Mapping[str, Any] = {}
    """Of a decision that gave nothing."""


class House(Struct, frozen=True):
    """What can be chosen without a map, with what each costs."""

    sections: tuple[str, ...]
    categories: tuple[tuple[str, str], ...]
    """(name, price) of those that seats are of."""
    areas: tuple[tuple[str, str, str], ...]
    """(guid, name, price)"""
    accessible: bool
    quantity_max: int


def house_of(
    plan: Plan, kinds: Iterable[tuple[int, int, bool]], terms: PriceTerms, quantity_max: int
) -> House:
    """`kinds`: (section, category, whether kept for accessible places) of the plan's seats."""
    prices = [money(one.total_minor, plan.currency) for one in of_categories(plan.categories, terms)]
    kinds = list(kinds)
    sections = sorted({section for section, _, _ in kinds})
    categories = sorted({category for _, category, _ in kinds})
    return House(
        tuple([plan.sections[one].name for one in sections]),
        tuple([(plan.categories[one].name, prices[one]) for one in categories]),
        tuple([(area.guid, area.name, prices[area.category]) for area in plan.areas]),
        any(kept for _, _, kept in kinds),
        quantity_max,
    )


class Seen(Struct, frozen=True, kw_only=True):
    """What a page shows; documents as buyers' clients get them."""

    event: str
    name: str
    room: dict[str, Any]
    place: dict[str, Any] | None = None
    signed_in: bool = True
    asked: Asked | None = None
    answer: Asked | None = None
    """The ballot's, where it gave nothing or what it gave is over."""
    wish: Want | None = None
    """What is filed for the ballot."""
    plan: Plan | None = None
    house: House | None = None
    """Where something can be chosen."""
    form: str = ""
    """What is to be filled in: code, mail, wish, leave; or nothing of these."""
    typed: Mapping[str, str] = {}
    """What was typed into a form that was refused."""
    still: bool = False
    """It does not renew itself: its buyer said so."""
    human_check: bool = False
    """Who joins is asked whether they are human, which takes a script."""
    wait_left: int | None = None
    """Seconds until a wait in place of a proof of work is over; None: there is none."""
    wait_new: int = 0
    """Seconds of a wait that begins now."""
    trouble: str = ""
    """Why the last form was refused."""
    shop: str = ""
    """The shop elsewhere that the buyer goes on to, as people read it."""

    @property
    def state(self) -> str | None:
        """Of the buyer's place."""
        return None if self.place is None else self.place["state"]

    @property
    def is_waiting_to_join(self) -> bool:
        """Has no place yet and waits in place of a proof."""
        return self.state not in ("waiting", "admitted") and bool(self.room["proof"]) and bool(self.wait_left)
