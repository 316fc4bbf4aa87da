"""Figures of a sale and how they come about: pure. Each row is a change of figures; changes are added up.

Promises: adding is commutative and associative, and nothing added to something is that. So the figures
are the same in whatever order rows come and however they are grouped, counted on from where somebody stopped
or from the first row. That is needed: an order that is taken back may be read before the order itself
(the transaction that takes it back may have begun before the one that bought it; see `store.outbox`).

What a row does not say and the change needs (`Known`) is looked up in what never changes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from functools import reduce
from typing import Any, Final, TypeVar

import msgspec
from msgspec import Struct

from store.outbox import Row, Told
from store.payments.charges import Line
from store.plan import Plan
from store.words import OPERATORS_HOLDS, HoldKind

BOOKED_MAX: Final = 20
"""So many of the last orders are told."""
MINUTES_MAX: Final = 360
"""So many minutes with orders are kept, the last ones."""
MINUTE_US: Final = 60_000_000
SECONDS_TO_ORDER: Final = (15, 30, 60, 120, 240, 480, 960)
"""Bounds of the buckets of conversion; what took longer is in one more."""
UNTOLD: Final = -1
"""The category of money that goes back for no seats that anybody can name."""

K = TypeVar("K")
V = TypeVar("V", bound="Sum")


class Sum(Struct, frozen=True):
    """Numbers that are added up field by field."""

    def plus(self: V, other: V) -> V:
        """Both together."""
        fields = self.__struct_fields__
        return type(self)(*[getattr(self, name) + getattr(other, name) for name in fields])


class Revenue(Sum, frozen=True, omit_defaults=True):
    """Of one category, in the smallest unit: what was paid, of that fees and tax, and what went again."""

    places: int = 0
    """Seats and places that were paid for."""
    gross_minor: int = 0
    fee_minor: int = 0
    tax_minor: int = 0
    refunded_minor: int = 0
    """Owed to buyers since, or given back."""
    moved_minor: int = 0
    """Went to another event with its orders."""


class Minute(Sum, frozen=True, omit_defaults=True):
    """What was booked in one minute of Postgres' clock."""

    orders: int = 0
    places: int = 0


class Orders(Sum, frozen=True, omit_defaults=True):
    """Orders by how they came about, and what became of them."""

    paid: int = 0
    free: int = 0
    by_hand: int = 0
    """Sold or given by operators."""
    moved_in: int = 0
    """Rebooked from another event."""
    taken_back: int = 0
    """Whole; moved to another event among them."""


class Holds(Sum, frozen=True, omit_defaults=True):
    """Holds by what the ledger says of them."""

    given: int = 0
    """To who asked."""
    offered: int = 0
    """To who waited."""
    moved: int = 0
    """Ended because their holders got others, which count as given."""
    released: int = 0
    """Given back whole."""
    expired: int = 0


class Refunds(Sum, frozen=True, omit_defaults=True):
    """Money that goes back, for orders and for payments that bought nothing."""

    owed_minor: int = 0
    """All that ever was."""
    given_minor: int = 0
    """Of that."""


class Booked(Struct, frozen=True, order=True, array_like=True):
    """An order, without a word of whose it is; `at` in microseconds."""

    at: int
    row: int
    """Its outbox row, so that two of the same moment are two."""
    places: int
    section: str


class Figures(Struct, frozen=True, omit_defaults=True):
    """Of one event, or what one row changes of it."""

    sold: int = 0
    """Seats and places that are in orders now."""
    orders: Orders = Orders()
    holds: Holds = Holds()
    refunds: Refunds = Refunds()
    revenue: dict[int, Revenue] = {}
    """By number of the category in the plan, or `UNTOLD`."""
    minutes: dict[int, Minute] = {}
    """Minutes since the epoch → what was booked; the last `MINUTES_MAX` in which something was."""
    to_order: dict[int, int] = {}
    """Index of a bucket of `SECONDS_TO_ORDER` → holds that became orders within it."""
    booked: tuple[Booked, ...] = ()
    """The newest first."""


NOTHING: Final = Figures()


class Known(Struct, frozen=True):
    """What changes look up: it is the same whenever it is looked up."""

    batch_times: Mapping[int, int] = {}
    """When the batch was that gave a hold; microseconds."""


class _Order(Struct):
    """What is read of a row about an order."""

    order: str
    kind: HoldKind = HoldKind.BUYER
    seats: list[int] = []
    areas: list[tuple[int, int]] = []
    payment: int | None = None
    lines: tuple[Line, ...] = ()
    refund_minor: int = 0
    moved_minor: int = 0
    moved_from: dict[str, Any] | None = None

    @property
    def places(self) -> int:
        return len(self.seats) + sum([count for _, count in self.areas])


class _Money(Struct):
    amount_minor: int


_decode_order = msgspec.json.Decoder(_Order).decode
_decode_money = msgspec.json.Decoder(_Money).decode
_TAKEN_BACK: Final = (Told.ORDER_CHANGED, Told.ORDER_REFUNDED)


def plus(one: Figures, other: Figures) -> Figures:
    """Both together."""
    minutes = _merged(one.minutes, other.minutes)
    return Figures(
        sold=one.sold + other.sold,
        orders=one.orders.plus(other.orders),
        holds=one.holds.plus(other.holds),
        refunds=one.refunds.plus(other.refunds),
        revenue=_merged(one.revenue, other.revenue),
        minutes={minute: minutes[minute] for minute in sorted(minutes)[-MINUTES_MAX:]},
        to_order=dict(sorted((Counter(one.to_order) + Counter(other.to_order)).items())),
        booked=tuple(sorted(one.booked + other.booked, reverse=True)[:BOOKED_MAX]),
    )


def total(changes: Iterable[Figures]) -> Figures:
    """All of them together."""
    return reduce(plus, changes, NOTHING)


def change_of(row: Row, known: Known, plan: Plan) -> Figures:
    """What a row of the outbox changes; kinds that say nothing of figures change nothing."""
    if row.kind == Told.ORDER_PAID:
        return _ordered(row, _decode_order(row.body), known, plan)
    if row.kind in _TAKEN_BACK:
        return _taken_back(row, _decode_order(row.body))
    if row.kind == Told.PAYMENT_REFUND_DUE:
        return Figures(refunds=Refunds(owed_minor=_decode_money(row.body).amount_minor))
    if row.kind == Told.PAYMENT_REFUNDED:
        return Figures(refunds=Refunds(given_minor=_decode_money(row.body).amount_minor))
    return NOTHING


def change_of_ledger(rows: Iterable[tuple[str, str, bool, int]]) -> Figures:
    """What ledger rows change: (kind, outcome, of a moved hold or of part of one, how many of them)."""
    given = offered = moved = released = expired = 0
    for kind, outcome, other, count in rows:
        given += count if (kind, outcome) == ("request", "held") else 0
        moved += count if (kind, outcome) == ("request", "held") and other else 0
        offered += count if kind == "offer" else 0
        released += count if (kind, outcome) == ("fact", "released") and not other else 0
        expired += count if kind == "expired" else 0
    return Figures(holds=Holds(given, offered, moved, released, expired))


def batches_of(rows: Iterable[Row]) -> set[int]:
    """The batches whose times must be known of these rows."""
    orders = [int(_decode_order(row.body).order) for row in rows if row.kind == Told.ORDER_PAID]
    return {order >> 16 for order in orders if order < OPERATORS_HOLDS}


def _ordered(row: Row, body: _Order, known: Known, plan: Plan) -> Figures:
    revenue: dict[int, Revenue] = {}
    for line in body.lines:
        parts = [line.count * part for part in (line.total_minor, line.fee_minor, line.tax_minor)]
        revenue = _merged(revenue, {line.category: Revenue(line.count, *parts)})
    if body.moved_from is not None:
        return Figures(sold=body.places, orders=Orders(moved_in=1), revenue=revenue)
    by_hand = body.kind is not HoldKind.BUYER
    how = Orders(paid=1) if body.payment is not None else Orders(by_hand=1) if by_hand else Orders(free=1)
    batch_time = None if by_hand else known.batch_times.get(int(body.order) >> 16)
    return Figures(
        sold=body.places,
        orders=how,
        revenue=revenue,
        minutes={row.at // MINUTE_US: Minute(1, body.places)},
        to_order={} if batch_time is None else {_bucket(row.at - batch_time): 1},
        booked=(Booked(row.at, row.id, body.places, _section(body, plan)),),
    )


def _taken_back(row: Row, body: _Order) -> Figures:
    return Figures(
        sold=-body.places,
        orders=Orders(taken_back=int(row.kind == Told.ORDER_REFUNDED)),
        refunds=Refunds(owed_minor=body.refund_minor),
        revenue=_merged(
            {no: Revenue(refunded_minor=part) for no, part in _parts(body, body.refund_minor)},
            {no: Revenue(moved_minor=part) for no, part in _parts(body, body.moved_minor)},
        ),
    )


def _parts(body: _Order, amount_minor: int) -> list[tuple[int, int]]:
    """(category, how much of this amount) by what the seats and places that were taken back had cost."""
    seats, areas, left = set(body.seats), dict(body.areas), amount_minor
    costs: Counter[int] = Counter()
    for line in body.lines:
        count = int(line.seat in seats) if line.area is None else areas.get(line.area, 0)
        costs[line.category] += count * line.total_minor
    parts = []
    for category, cost in sorted(costs.items()):
        part = min(cost, left)
        left -= part
        parts.append((category, part))
    return [(category, part) for category, part in [*parts, (UNTOLD, left)] if part]


def _section(body: _Order, plan: Plan) -> str:
    """Where most of it is, as printed on tickets; of equals the first of the plan."""
    counted = Counter(plan.seats[seat].section for seat in sorted(body.seats))
    if counted:
        return plan.sections[counted.most_common(1)[0][0]].name
    return plan.areas[body.areas[0][0]].name if body.areas else ""


def _bucket(took_us: int) -> int:
    seconds = took_us / 1_000_000
    return sum(seconds > most for most in SECONDS_TO_ORDER)


def _merged(one: Mapping[K, V], other: Mapping[K, V]) -> dict[K, V]:
    both = dict(one)
    for key, value in other.items():
        both[key] = both[key].plus(value) if key in both else value
    return both
