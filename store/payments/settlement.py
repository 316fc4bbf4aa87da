"""The settlement of an event: what came in, what it is for, what goes back, what the provider pays out.

From the tables, in one snapshot, never from the read model. Every payment is checked to the cent:

- its lines, each seat or place with its price, add up to its amount, fee and tax;
- what was given back and is owed is what its refunds say;
- what is left of it is what its order's seats and places had cost; nothing is left of one that bought
  nothing, and all of one that asks for its seats again.

So in the sum: money in = refunded + owed + orders standing + late. What does not balance is named with its
payment (`Imbalance`) and never repaired.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple

import psycopg
from msgspec import Struct

from store.events import get_event
from store.figures.read import plan_of
from store.payments.begin import decode_charged
from store.payments.charges import Charge, Line
from store.payments.states import UNPAID, PaymentState
from store.plan import Plan
from store.words import HoldKind, HoldState, one_of

Conn = psycopg.Connection[Any]

ROWS_AT_ONCE: Final = 2_000
STATEMENT_MS_MAX: Final = 120_000
IMBALANCES_MAX: Final = 1_000
"""Most that are told one by one."""

PAYMENTS: Final = """
-- Every payment that money came for, with what its order has now, and what its refunds say.
SELECT payment.id, order_id, provider, intent, payment.state, reason, currency, amount_minor, fee_minor,
       tax_minor, refunded_minor, refund_due_minor, provider_fee_minor, succeeded_at, charged::text,
       hold.state, hold.kind, coalesce(hold.buyer = payment.buyer, false), coalesce(hold.quantity, 0),
       coalesce(seats.numbers, '{}'), coalesce(areas.numbers, '{}'), coalesce(areas.counts, '{}'),
       coalesce(refunds.given, 0), coalesce(refunds.due, 0)
  FROM payment
  LEFT JOIN hold ON hold.event_id = payment.event_id AND hold.hold_id = payment.order_id
  LEFT JOIN (SELECT hold_id, array_agg(seat_no) AS numbers FROM hold_seat
              WHERE event_id = %(event)s GROUP BY hold_id) AS seats ON seats.hold_id = payment.order_id
  LEFT JOIN (SELECT hold_id, array_agg(area_no) AS numbers, array_agg(quantity) AS counts FROM hold_area
              WHERE event_id = %(event)s GROUP BY hold_id) AS areas ON areas.hold_id = payment.order_id
  LEFT JOIN (SELECT payment_id, sum(refund.amount_minor) FILTER (WHERE refund.state = 'refunded') AS given,
                    sum(refund.amount_minor) FILTER (WHERE refund.state = 'due') AS due
               FROM refund JOIN payment ON payment.id = refund.payment_id
              WHERE payment.event_id = %(event)s GROUP BY payment_id) AS refunds
    ON refunds.payment_id = payment.id
 WHERE payment.event_id = %(event)s AND succeeded_at IS NOT NULL
 ORDER BY payment.id
"""

WITHOUT_PAYMENT: Final = """
-- Orders that no payment bought, by how they came about.
SELECT hold_id, kind, quantity, paid_at FROM hold
 WHERE event_id = %(event)s AND state = 'paid' AND NOT EXISTS (
   SELECT FROM payment WHERE payment.event_id = hold.event_id AND order_id = hold.hold_id)
 ORDER BY hold_id
"""

UNRESOLVED: Final = f"""
-- Money may still come for these: the provider has not said that they are over.
SELECT count(*), coalesce(sum(amount_minor), 0)::bigint FROM payment
 WHERE event_id = %(event)s AND {one_of("state", *sorted(UNPAID))} AND NOT intent_ended
"""

MOVED: Final = """
SELECT count(*) FILTER (WHERE event_id = %(event)s),
       coalesce(sum(amount_minor) FILTER (WHERE event_id = %(event)s), 0)::bigint,
       count(*) FILTER (WHERE to_event_id = %(event)s),
       coalesce(sum(amount_minor) FILTER (WHERE to_event_id = %(event)s), 0)::bigint
  FROM rebooked WHERE event_id = %(event)s OR to_event_id = %(event)s
"""


class Counted(Struct, frozen=True):
    """So many, and what they come to, in the smallest unit."""

    count: int
    amount_minor: int


class Open(Struct, frozen=True):
    """What may change yet."""

    late: Counted
    """Money came after the hold; its seats are asked for again."""
    refund_due: Counted
    """Payments of which something is owed and not yet given."""
    unresolved: Counted
    """No money yet, and the provider has not said that none will come."""


class Apart(Struct, frozen=True):
    """Orders without a payment: `free` (a buyer's that cost nothing), `complimentary`, `box_office`."""

    kind: str
    orders: int
    places: int


class CategorySettlement(Struct, frozen=True):
    """Of the payments: `gross_minor` came in, `returned_minor` of it is for what is in no order (any more),
    the rest is `net_minor`, with fee and tax in it.
    """

    category: str
    places: int
    """In orders now."""
    gross_minor: int
    returned_minor: int
    net_minor: int
    fee_minor: int
    tax_minor: int


class Imbalance(Struct, frozen=True):
    """What does not balance; `payment` is null where it is an order without one."""

    payment: int | None
    story: str


class Settlement(Struct, frozen=True):
    """An event's money at one moment; all amounts in the currency's smallest unit."""

    event: str
    currency: str
    at: datetime
    orders: int
    """That were paid for and stand."""
    money_in_minor: int
    refunded_minor: int
    refund_due_minor: int
    standing_minor: int
    """What the orders that stand cost."""
    fee_minor: int
    """Of that the organiser's fees."""
    tax_minor: int
    """Of that tax."""
    provider_fee_minor: int
    payout_minor: int
    """Money in, less refunded, owed and the provider's fees."""
    open: Open
    apart: list[Apart]
    moved_out: Counted
    """Orders that went to another event, with what was left of their payments: no longer in this one."""
    moved_in: Counted
    categories: list[CategorySettlement]
    balances: bool
    imbalances: list[Imbalance]


class Entry(Struct, frozen=True):
    """One line of the CSV: a payment that money came for, or an order without one. See docs/settlement.md."""

    event: str
    payment: int | None
    order: int | None
    kind: str
    state: str
    reason: str | None
    provider: str | None
    intent: str | None
    paid_at: datetime | None
    places: int
    currency: str
    amount_minor: int
    fee_minor: int
    tax_minor: int
    refunded_minor: int
    refund_due_minor: int
    provider_fee_minor: int
    standing_minor: int


class Paid(NamedTuple):
    """A row of `PAYMENTS`."""

    id: int
    order: int | None
    provider: str
    intent: str | None
    state: PaymentState
    reason: str | None
    currency: str
    amount_minor: int
    fee_minor: int
    tax_minor: int
    refunded_minor: int
    refund_due_minor: int
    provider_fee_minor: int
    at: datetime
    charge: Charge
    hold_state: HoldState | None
    kind: HoldKind | None
    is_buyers: bool
    has: int
    """Seats and places that the order counts."""
    seats: list[int]
    areas: dict[int, int]
    given_minor: int
    """By its refunds, as the next one."""
    due_minor: int

    @property
    def left_minor(self) -> int:
        return self.amount_minor - self.refunded_minor - self.refund_due_minor

    @property
    def standing(self) -> list[tuple[Line, int]]:
        """The lines of what is in the order now, and how many of each; of one whose money goes back, none."""
        return self.there if self.state is PaymentState.SUCCEEDED else []

    @property
    def there(self) -> list[tuple[Line, int]]:
        """The same, whatever becomes of the money."""
        seats = set(self.seats)
        there = [
            (line, int(line.seat in seats) if line.area is None else self.areas.get(line.area, 0))
            for line in self.charge.lines
        ]
        return [(line, count) for line, count in there if count]

    @property
    def standing_minor(self) -> int:
        return sum([count * line.total_minor for line, count in self.standing])


def settlement(conn: Conn, slug: str, tell: Callable[[Entry], object] | None = None) -> Settlement:
    """An event's settlement; each line of its CSV is told to `tell` on the way. Raises as `settling` does."""
    going = settling(conn, slug)
    while True:
        try:
            entry = next(going)
        except StopIteration as done:
            found: Settlement = done.value
            return found
        if tell is not None:
            tell(entry)


def settling(conn: Conn, slug: str) -> Generator[Entry, None, Settlement]:
    """The lines of an event's CSV as they are read, then its settlement, of one moment. Raises `NotFound`.

    `conn` has no transaction open, and one until the end. Memory does not grow with the number of payments
    or orders: few rows are read ahead of the line that is asked for.
    """
    with conn.transaction():
        conn.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        conn.execute(f"SET LOCAL statement_timeout = {STATEMENT_MS_MAX}")
        event_id = get_event(conn, slug).id
        sums = _Sums(slug, plan_of(conn, event_id))
        for paid in _payments(conn, event_id):
            yield sums.take(paid)
        for hold_id, kind, quantity, paid_at in _read(conn, WITHOUT_PAYMENT, event_id):
            yield sums.take_apart(hold_id, HoldKind(kind), quantity, paid_at)
        unresolved = Counted(*conn.execute(UNRESOLVED, {"event": event_id}).fetchall()[0])
        out, out_minor, into, into_minor = conn.execute(MOVED, {"event": event_id}).fetchall()[0]
        at = conn.execute("SELECT now()").fetchall()[0][0]
        return sums.done(at, unresolved, Counted(out, out_minor), Counted(into, into_minor))


def wrong_with(paid: Paid, currency: str) -> Iterator[str]:
    """What does not balance of one payment, in sentences; nothing of one that does. Pure."""
    lines = paid.charge.lines
    sums = [
        sum([line.count * part for line, part in zip(lines, parts, strict=True)])
        for parts in (
            [line.total_minor for line in lines],
            [line.fee_minor for line in lines],
            [line.tax_minor for line in lines],
        )
    ]
    told = [paid.amount_minor, paid.fee_minor, paid.tax_minor]
    if sums != told:
        yield f"its lines come to {sums} (amount, fee, tax), it says {told}"
    if paid.currency != currency:
        yield f"it is in {paid.currency}, the event's prices in {currency}"
    rows, columns = (paid.given_minor, paid.due_minor), (paid.refunded_minor, paid.refund_due_minor)
    if rows != columns:
        yield f"its refunds say {rows[0]} given and {rows[1]} due, it says {columns[0]} and {columns[1]}"
    yield from _what_for(paid)


def _what_for(paid: Paid) -> Iterator[str]:
    if paid.state is PaymentState.SUCCEEDED:
        if paid.hold_state is not HoldState.PAID or not paid.is_buyers:
            found = "not there" if paid.hold_state is None else paid.hold_state.value
            whose = "" if paid.is_buyers or paid.hold_state is None else " and another buyer's"
            yield f"its order {paid.order} is {found}{whose}, and {paid.left_minor} of the money is left"
        elif paid.standing_minor != paid.left_minor:
            costs = f"cost {paid.standing_minor}, and {paid.left_minor} of the money is left"
            yield f"what its order {paid.order} has {costs}"
        elif sum([count for _, count in paid.standing]) != paid.has:
            yield f"its order {paid.order} has {paid.has} seats and places, not all of them paid for"
    elif paid.state is PaymentState.LATE and paid.left_minor != paid.amount_minor:
        yield f"it asks for its seats again with {paid.left_minor} of {paid.amount_minor}"
    elif paid.state in (PaymentState.REFUND_DUE, PaymentState.REFUNDED):
        if paid.left_minor:
            yield f"all of it goes back, and {paid.left_minor} is not in a refund"
        free = sum([count for line, count in paid.there if not line.total_minor])
        if paid.hold_state is HoldState.PAID and free != paid.has:
            yield f"all of it goes back, and its order {paid.order} stands"


class _Sums:
    """What a settlement is made of, payment by payment."""

    def __init__(self, slug: str, plan: Plan) -> None:
        self._slug, self._plan = slug, plan
        self._amounts: dict[str, int] = {}
        self._late, self._due = Counted(0, 0), Counted(0, 0)
        self._orders = 0
        self._apart: dict[str, Apart] = {}
        none = [0, 0, 0, 0, 0]
        self._categories = {number: list(none) for number in range(len(plan.categories))}
        self._wrong: list[Imbalance] = []
        self._balances = True

    def take(self, paid: Paid) -> Entry:
        """Count a payment, check it, and give its line."""
        stories = list(wrong_with(paid, self._plan.currency))
        self._balances = self._balances and not stories
        room = IMBALANCES_MAX - len(self._wrong)
        self._wrong += [Imbalance(paid.id, story) for story in stories[:room]]
        self._add("money_in", paid.amount_minor)
        self._add("refunded", paid.refunded_minor)
        self._add("refund_due", paid.refund_due_minor)
        self._add("provider_fee", paid.provider_fee_minor)
        self._add("standing", paid.standing_minor)
        self._orders += paid.state is PaymentState.SUCCEEDED
        if paid.state is PaymentState.LATE:
            self._late = Counted(self._late.count + 1, self._late.amount_minor + paid.left_minor)
        if paid.refund_due_minor:
            self._due = Counted(self._due.count + 1, self._due.amount_minor + paid.refund_due_minor)
        for line in paid.charge.lines:
            self._categories[line.category][1] += line.count * line.total_minor
        for line, count in paid.standing:
            parts = (1, 0, line.total_minor, line.fee_minor, line.tax_minor)
            its = self._categories[line.category]
            its[:] = [one + count * part for one, part in zip(its, parts, strict=True)]
        return Entry(
            self._slug, paid.id, paid.order, "paid" if paid.order else "nothing_bought", paid.state,
            paid.reason, paid.provider, paid.intent, paid.at, sum([count for _, count in paid.standing]),
            paid.currency, paid.amount_minor, paid.fee_minor, paid.tax_minor, paid.refunded_minor,
            paid.refund_due_minor, paid.provider_fee_minor, paid.standing_minor,
        )  # fmt: skip

    def take_apart(self, order: int, kind: HoldKind, places: int, at: datetime) -> Entry:
        """Count an order without a payment, and give its line."""
        name = "free" if kind is HoldKind.BUYER else kind.value
        was = self._apart.get(name, Apart(name, 0, 0))
        self._apart[name] = Apart(name, was.orders + 1, was.places + places)
        money = (0, 0, 0, 0, 0, 0, 0)
        whose = (None, None, None, at, places, self._plan.currency)
        return Entry(self._slug, None, order, name, HoldState.PAID, *whose, *money)

    def done(self, at: datetime, unresolved: Counted, out: Counted, into: Counted) -> Settlement:
        """The settlement; once more, all in all."""
        amounts = {name: self._amounts.get(name, 0) for name in _AMOUNTS}
        categories = [
            CategorySettlement(
                self._plan.categories[number].name, places, gross, gross - net, net, fee, tax
            )
            for number, (places, gross, net, fee, tax) in self._categories.items()
        ]  # fmt: skip
        stories = list(_wrong_in_all(amounts, self._late.amount_minor, categories))
        paid_out = amounts["money_in"] - amounts["refunded"] - amounts["refund_due"] - amounts["provider_fee"]
        return Settlement(
            event=self._slug,
            currency=self._plan.currency,
            at=at,
            orders=self._orders,
            **{f"{name}_minor": amount for name, amount in amounts.items()},
            fee_minor=sum([one.fee_minor for one in categories]),
            tax_minor=sum([one.tax_minor for one in categories]),
            payout_minor=paid_out,
            open=Open(self._late, self._due, unresolved),
            apart=[self._apart[name] for name in sorted(self._apart)],
            moved_out=out,
            moved_in=into,
            categories=categories,
            balances=self._balances and not stories,
            imbalances=[*self._wrong, *[Imbalance(None, story) for story in stories]],
        )

    def _add(self, name: str, amount: int) -> None:
        self._amounts[name] = self._amounts.get(name, 0) + amount


_AMOUNTS: Final = ("money_in", "refunded", "refund_due", "standing", "provider_fee")


def _wrong_in_all(
    amounts: dict[str, int], late_minor: int, categories: Sequence[CategorySettlement]
) -> Iterator[str]:
    left = amounts["money_in"] - amounts["refunded"] - amounts["refund_due"]
    if left != amounts["standing"] + late_minor:
        parts = f"orders come to {amounts['standing']}, late payments to {late_minor}"
        yield f"of the money in {left} neither went back nor is owed; {parts}"
    gross = sum([one.gross_minor for one in categories])
    if gross != amounts["money_in"]:
        yield f"the categories come to {gross}, the money in to {amounts['money_in']}"


def _payments(conn: Conn, event_id: int) -> Iterator[Paid]:
    return map(_paid, _read(conn, PAYMENTS, event_id))


def _read(conn: Conn, statement: str, event_id: int) -> Iterator[Sequence[Any]]:
    """By a cursor of the server's, some rows at a time."""
    with conn.cursor("settlement") as cursor:
        cursor.itersize = ROWS_AT_ONCE
        yield from cursor.execute(statement.encode(), {"event": event_id})


def _paid(row: Sequence[Any]) -> Paid:
    money, (charged, hold_state, kind), (is_buyers, has), has_what = (
        row[:14],
        row[14:17],
        row[17:19],
        row[19:],
    )
    seats, areas, counts, given, due = has_what
    became = None if hold_state is None else HoldState(hold_state)
    how = None if kind is None else HoldKind(kind)
    order = (decode_charged(charged), became, how, is_buyers, has, list(seats))
    places = dict(zip(areas, counts, strict=True))
    return Paid._make((*money[:4], PaymentState(money[4]), *money[5:], *order, places, int(given), int(due)))
