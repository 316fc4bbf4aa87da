"""Are the tables what the model says, and do the laws hold of them, whoever wrote them?"""

from __future__ import annotations

from collections import Counter
from typing import Any

from store import invariant as seats
from store.payments import answered, invariant
from store.payments.settlement import settlement
from tests.payments_model.house import House
from tests.payments_model.reference import Key, Model

PAYMENTS = """
SELECT id, event_id, state, order_id, amount_minor, refund_due_minor, refunded_minor, reason, succeeded_at
  FROM payment WHERE event_id = ANY (%s) ORDER BY id
"""
HOLDS = """
SELECT event_id, hold_id, buyer, state, quantity, paid_at,
       ARRAY (SELECT seat_no FROM hold_seat WHERE hold_seat.event_id = hold.event_id
               AND hold_seat.hold_id = hold.hold_id),
       coalesce((SELECT sum(quantity) FROM hold_area WHERE hold_area.event_id = hold.event_id
         AND hold_area.hold_id = hold.hold_id), 0)::int
  FROM hold WHERE event_id = ANY (%s)
"""
SEATS = """
SELECT event_id, seat_no, state, hold_id FROM seat WHERE event_id = ANY (%s) AND hold_id IS NOT NULL
"""
PLACES = "SELECT event_id, held + sold FROM area WHERE event_id = ANY (%s)"
TOLD = """
SELECT event_id, number, id, kind, body FROM outbox WHERE event_id = ANY (%s) ORDER BY event_id, number
"""
MONEY_IN = """
-- Of each payment that money came for: it, and what of it went back, is owed, or stands for seats.
SELECT payment.id, payment.amount_minor,
       coalesce((SELECT sum(amount_minor) FROM refund WHERE payment_id = payment.id), 0)::bigint,
       payment.state, payment.order_id, payment.event_id
  FROM payment WHERE event_id = ANY (%s) AND succeeded_at IS NOT NULL
"""


class Truth:
    """Compares after each step; remembers the moments that must never change."""

    def __init__(self, house: House, events: dict[int, str], model: Model) -> None:
        self.house, self.conn, self.model = house, house.conn, model
        self.events = events
        self.ids = list(events)
        self.moments: dict[tuple[str, object], object] = {}

    def is_the_models(self) -> None:
        payments = self.conn.execute(PAYMENTS, [self.ids]).fetchall()
        self._payments_are(payments)
        self._holds_are(self.conn.execute(HOLDS, [self.ids]).fetchall())
        self._money_is_where_the_seats_are(self.conn.execute(MONEY_IN, [self.ids]).fetchall())
        self._everything_is_told_once(self.conn.execute(TOLD, [self.ids]).fetchall())

    def keeps_the_laws(self) -> None:
        """By the sentences that production looks by."""
        for event, slug in self.events.items():
            assert seats.mismatches(self.conn, event, seats.read_capacity(self.conn, event)) == []
            assert invariant.mismatches(self.conn, event) == []
            found = settlement(self.conn, slug)
            assert found.balances, found.imbalances
        assert self.house.run(lambda own: answered.look(own, 0)).wrong == []

    def numbers_have_no_gaps(self) -> None:
        """Of what the world is told, by event."""
        rows: dict[int, list[int]] = {}
        for event, number, *_ in self.conn.execute(TOLD, [self.ids]).fetchall():
            rows.setdefault(event, []).append(number)
        for event, numbers in rows.items():
            assert numbers == list(range(1, len(numbers) + 1)), f"rows of {self.events[event]} have gaps"

    def _payments_are(self, rows: list[tuple[Any, ...]]) -> None:
        found = {}
        for number, event, state, order, amount, due, given, reason, at in rows:
            key = None if order is None else (self.events[event], order)
            found[number] = (state, key, amount, due, given, reason)
            self._stays(("paid", number), at)
        wanted = {
            one.number: (one.state, one.order, one.amount, one.due, one.given)
            for one in self.model.payments.values()
        }
        assert {number: row[:5] for number, row in found.items()} == wanted
        for one in self.model.payments.values():
            if one.reason is not None and one.order is None:
                assert found[one.number][5] == one.reason, one

    def _holds_are(self, rows: list[tuple[Any, ...]]) -> None:
        found: dict[Key, object] = {}
        owners: dict[tuple[str, int], int] = {}
        for event, hold, buyer, state, quantity, paid_at, named, places in rows:
            key = (self.events[event], hold)
            lives = state in ("active", "paid")
            found[key] = (buyer, state, frozenset(named), places)
            assert not lives or quantity == len(named) + places, f"hold {key} has what it counts"
            for seat in named:
                assert (key[0], seat) not in owners, f"seat {seat} of {key[0]} is in two holds"
                owners[key[0], seat] = hold
            if state in ("paid", "refunded"):
                self._stays(("bought", key), paid_at)
        wanted = {key: (hold.buyer, hold.state, *hold.has) for key, hold in self.model.holds.items()}
        assert found == wanted
        stands = {
            (self.events[event], seat): hold
            for event, seat, _, hold in self.conn.execute(SEATS, [self.ids]).fetchall()
        }
        assert stands == owners
        for event, count in self.conn.execute(PLACES, [self.ids]).fetchall():
            assert count == self.model.places_taken(self.events[event])

    def _money_is_where_the_seats_are(self, rows: list[tuple[Any, ...]]) -> None:
        """To the cent: what does not go back, and asks for nothing, is what the order's seats cost."""
        came = kept = went = 0
        for number, amount, back, state, order, event in rows:
            stands = 0
            if state == "succeeded":
                hold = self.model.holds[self.events[event], order]
                stands = self.model.costs(hold.seats, hold.places)
            elif state == "late":
                stands = amount
            story = f"payment {number}: {amount} came, {back} goes back, {stands} stands"
            assert amount == back + stands, story
            came, kept, went = came + amount, kept + stands, went + back
        assert came == kept + went

    def _everything_is_told_once(self, rows: list[tuple[Any, ...]]) -> None:
        told: Counter[tuple[str, tuple[object, ...]]] = Counter()
        ids = set()
        refunds = set()
        for event, _, row, kind, body in rows:
            ids.add(row)
            if kind == "payment.refunded":
                assert body["refund"] not in refunds, "a refund is told once"
                refunds.add(body["refund"])
            else:
                told[self.events[event], (kind, *_what(kind, body))] += 1
        assert len(ids) == len(rows)
        self.numbers_have_no_gaps()
        assert told == self.model.told
        given = "SELECT id FROM refund WHERE state = 'refunded' AND event_id = ANY (%s)"
        assert refunds == {number for (number,) in self.conn.execute(given, [self.ids]).fetchall()}

    def _stays(self, what: tuple[str, object], moment: object) -> None:
        if moment is not None or what in self.moments:
            assert self.moments.setdefault(what, moment) == moment, f"{what} was at {moment}"


def _what(kind: str, body: dict[str, Any]) -> tuple[object, ...]:
    if kind.startswith("payment."):
        return (body["payment"],)
    if kind == "ticket.transferred":
        return (int(body["order"]), body["ticket"], body["serial"])
    if kind == "order.changed":
        return (int(body["order"]), tuple(sorted(body["seats"])), sum(count for _, count in body["areas"]))
    return (int(body["order"]),) if "order" in body else ()
