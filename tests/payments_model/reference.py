"""What must become of holds, money and orders, whatever is done to them and in whatever order: a plain model.

No clock, no database, one thing after the other. It knows what each seat costs, and is told who did what.
Seats and places are by number; `None` in a price list is one place of the only area.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

OPEN = ("created", "failed")
UNPAID = (*OPEN, "canceled")
REASONS = {
    "changed": "hold_changed",
    "over": "late",
    "released": "hold_released",
    "paid": "paid_twice",
    "refunded": "order_refunded",
}
Key = tuple[str, int]
"""(event, hold)"""
Telling = tuple[object, ...]


@dataclass
class Hold:
    """Seats and places of a buyer's; an order once it is paid."""

    buyer: str
    seats: set[int]
    places: int
    state: str = "active"
    over: bool = False
    """It ran out; nobody wrote that down yet."""
    given_away: set[int] = field(default_factory=set)

    @property
    def quantity(self) -> int:
        return len(self.seats) + self.places

    @property
    def has(self) -> tuple[frozenset[int], int]:
        """What nobody else can have."""
        lives = self.state in ("active", "paid")
        return (frozenset(self.seats), self.places) if lives else (frozenset(), 0)


@dataclass
class Payment:
    """Money that was asked for a hold, and what became of it."""

    number: int
    hold: Key
    buyer: str
    seats: frozenset[int]
    places: int
    amount: int
    state: str = "created"
    intent: bool = False
    """The provider's name of it is known here."""
    order: Key | None = None
    reason: str | None = None
    due: int = 0
    given: int = 0
    asked: str = ""
    """What the event's stream answered a late one: `given`, `taken`; empty while it did not."""
    again: Key | None = None
    """The hold it was given then."""


class Model:
    """All of it. Methods say what the real one must answer."""

    def __init__(self, prices: Mapping[int | None, int], reacquire: bool) -> None:
        self.prices = prices
        self.reacquire = reacquire
        self.holds: dict[Key, Hold] = {}
        self.payments: dict[int, Payment] = {}
        self.heard: dict[str, int] = {}
        """Notices that were acted on, and of which payment."""
        self.told: Counter[tuple[str, Telling]] = Counter()
        """What the world is told of each event: each thing so often."""
        self.closed: set[str] = set()

    def costs(self, seats: Iterable[int], places: int) -> int:
        return sum(self.prices[seat] for seat in seats) + places * self.prices[None]

    def orders(self) -> list[Key]:
        return [key for key, hold in self.holds.items() if hold.state == "paid"]

    def taken(self, event: str) -> set[int]:
        """Seats of the event that somebody has."""
        return {seat for (of, _), hold in self.holds.items() if of == event for seat in hold.has[0]}

    def places_taken(self, event: str) -> int:
        return sum(hold.has[1] for (of, _), hold in self.holds.items() if of == event)

    # --- a hold, and paying for it ---

    def open_payment(self, key: Key) -> Payment | None:
        return next((one for one in self.payments.values() if one.hold == key and one.state in OPEN), None)

    def refuses(self, key: Key, buyer: str) -> str | None:
        """Why nobody can begin to pay for it; None: its buyer can."""
        hold = self.holds[key]
        if hold.buyer != buyer:
            return "hold_not_found"
        if hold.state != "active":
            return f"hold_{hold.state}"
        return "hold_expired" if hold.over else None

    def began(self, key: Key, number: int) -> None:
        """A payment of that number is open for the hold, and no other."""
        hold, there = self.holds[key], self.open_payment(key)
        fits = there is not None and (there.seats, there.places) == (frozenset(hold.seats), hold.places)
        if there is not None and fits:
            assert there.number == number, "who begins again has the payment there is"
            return
        if there is not None:
            there.state = "canceled"
        assert number not in self.payments, "a payment is of one hold"
        amount = self.costs(hold.seats, hold.places)
        self.payments[number] = Payment(number, key, hold.buyer, frozenset(hold.seats), hold.places, amount)

    def fate(self, payment: Payment, key: Key) -> str:
        """What money finds of a hold."""
        hold = self.holds[key]
        if hold.state == "expired" or (hold.state == "active" and hold.over):
            return "over"
        if hold.state == "active":
            return "alive" if hold.quantity == len(payment.seats) + payment.places else "changed"
        return hold.state

    def notice(self, name: str, kind: str, number: int) -> tuple[str, bool]:
        """(the payment's state, whether nothing changed) after a notice that fits it."""
        payment = self.payments[number]
        if kind == "other" or name in self.heard:
            return payment.state, True
        self.heard[name] = number
        if kind == "succeeded" and payment.state in UNPAID:
            self._money(payment)
        elif kind in ("failed", "canceled") and payment.state in OPEN:
            payment.state = kind
        else:
            return payment.state, True
        payment.intent = True
        return payment.state, False

    def _money(self, payment: Payment) -> None:
        fate = self.fate(payment, payment.hold)
        if fate == "alive":
            self.buys(payment, payment.hold)
        elif fate == "over" and self.reacquire:
            payment.state, payment.reason = "late", "late"
            self._tell(payment.hold[0], "payment.late", payment.number)
        else:
            self.goes_back(payment, REASONS[fate])

    def buys(self, payment: Payment, key: Key) -> None:
        """All of it, or it would not be alive."""
        hold = self.holds[key]
        assert hold.state == "active", "an order is bought once"
        hold.state, payment.state, payment.order = "paid", "succeeded", key
        self._tell(key[0], "order.paid", key[1])

    def goes_back(self, payment: Payment, reason: str) -> None:
        payment.state, payment.reason, payment.due = "refund_due", reason, payment.amount
        self._tell(payment.hold[0], "payment.refund_due", payment.number)

    def resolved(self, payment: Payment) -> bool:
        """Whether a late one has its answer now."""
        if payment.state != "late" or not payment.asked:
            return payment.state != "late"
        if payment.again is None:
            self.goes_back(payment, "seats_gone")
        elif self.fate(payment, payment.again) == "alive":
            self.buys(payment, payment.again)
        else:
            self.goes_back(payment, "late")
        return True

    # --- what was bought goes back ---

    def take_back(self, key: Key, seats: set[int], places: int) -> None:
        """Some of an order, or all of it, with its price; whoever takes it."""
        hold = self.holds[key]
        whole = len(seats) + places == hold.quantity
        self._owe(key, seats, places, whole)
        if whole:
            hold.state = "refunded"
            self._tell(key[0], "order.refunded", key[1])
        else:
            hold.seats -= seats
            hold.places -= places
            self._tell(key[0], "order.changed", key[1], tuple(sorted(seats)), places)

    def _owe(self, key: Key, seats: set[int], places: int, whole: bool) -> None:
        paid = (one for one in self.payments.values() if one.order == key and one.state == "succeeded")
        payment = next(paid, None)
        if payment is None:
            return
        left = payment.amount - payment.given - payment.due
        payment.due += left if whole else self.costs(seats, places)
        if payment.due + payment.given == payment.amount:
            payment.state = "refund_due"

    def gave(self, payment: Payment, amount: int) -> None:
        """The provider did."""
        payment.due -= amount
        payment.given += amount
        if payment.given == payment.amount:
            payment.state = "refunded"

    def moves(self, key: Key, to: Key) -> None:
        """An order is another event's now, with its money."""
        hold = self.holds[key]
        hold.state = "refunded"
        self._tell(key[0], "order.refunded", key[1])
        self.holds[to] = replace(hold, state="paid", seats=set(hold.seats), given_away=set(hold.given_away))
        self._tell(to[0], "order.paid", to[1])
        for payment in self.payments.values():
            if payment.order == key and payment.state == "succeeded":
                payment.order = payment.hold = to

    def _tell(self, event: str, *what: object) -> None:
        self.told[event, what] += 1
