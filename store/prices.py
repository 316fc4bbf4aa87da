"""What a seat costs: its category's price, the organiser's fee and tax, in the smallest unit of money. Pure.

Promises, for each seat or place:
- the fee is `fee_minor` and `fee_basis_points` of the price;
- tax included: what is paid is price and fee, and the tax is the part of it that `tax_basis_points` of the
  rest are; tax added: it is `tax_basis_points` of price and fee, and comes on top;
- each part is rounded to the smallest unit, half of one upwards, before anything is added up. So the
  parts of a seat add up exactly, and a party pays what its seats cost one by one.

Decisions know nothing of fees and tax: `price_min` and `price_max` of a request are of the category's price.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from msgspec import Meta, Struct

from store.plan import Category
from store.words import PRICE_MINOR_MAX

WHOLE = 10_000
"""Basis points of all of it."""

FeeMinor = Annotated[int, Meta(ge=0, le=PRICE_MINOR_MAX)]
BasisPoints = Annotated[int, Meta(ge=0, le=WHOLE)]


class PriceTerms(Struct, frozen=True, forbid_unknown_fields=True):
    """What an organiser adds to the plan's prices; nothing unless said."""

    fee_minor: FeeMinor = 0
    """For each seat or place."""
    fee_basis_points: BasisPoints = 0
    """Of the price: 250 are 2.5 %."""
    tax_basis_points: BasisPoints = 0
    tax_included: bool = True
    """Prices and fees have the tax in them; else it comes on top."""


class Price(Struct, frozen=True):
    """What one seat or place costs. `total_minor` is what is paid."""

    price_minor: int
    fee_minor: int
    tax_minor: int
    """In the total, wherever it was said to be."""
    total_minor: int


class CategoryPrice(Price, frozen=True):
    """A seat or place of that category."""

    category: str


class PlanMove(Struct, frozen=True):
    """A move of a sale: what it changed, by number of the plan, each with the category it had before.

    A hold or order of a lower number than `before` was decided before it, and costs what it did then.
    """

    before: str
    seats: list[tuple[int, int]]
    areas: list[tuple[int, int]]


def price_of(price_minor: int, terms: PriceTerms) -> Price:
    """What a seat of that price costs."""
    fee = terms.fee_minor + _part(price_minor * terms.fee_basis_points, WHOLE)
    asked, tax = price_minor + fee, terms.tax_basis_points
    if terms.tax_included:
        return Price(price_minor, fee, _part(asked * tax, WHOLE + tax), asked)
    added = _part(asked * tax, WHOLE)
    return Price(price_minor, fee, added, asked + added)


def of_categories(categories: Sequence[Category], terms: PriceTerms) -> list[CategoryPrice]:
    """A seat of each category, in the plan's order."""
    prices = [price_of(category.price_minor, terms) for category in categories]
    return [
        CategoryPrice(one.price_minor, one.fee_minor, one.tax_minor, one.total_minor, category.name)
        for one, category in zip(prices, categories, strict=True)
    ]


def _part(numerator: int, denominator: int) -> int:
    """Rounded to a whole number, half upwards; neither is negative."""
    return (2 * numerator + denominator) // (2 * denominator)
