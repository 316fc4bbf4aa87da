"""An event's fees and tax: read, and set by an operator before the sale begins. See `store.prices`.

They are settled when the sale opens, so nobody pays another price than the one shown before they asked.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from store import audit
from store.audit import Said
from store.blocks import Conn, in_transaction
from store.errors import BadRequest, Conflicted
from store.events import get_event
from store.plan import Category
from store.prices import CategoryPrice, PlanMove, PriceTerms, of_categories
from store.words import EventState

BEFORE_THE_SALE: Final = (EventState.DRAFT, EventState.LOBBY)
"""Until then fees and tax may be changed."""

LOCK_EVENT: Final = "SELECT state FROM event WHERE id = %(event)s FOR NO KEY UPDATE"

READ: Final = """
SELECT fee_minor, fee_basis_points, tax_basis_points, tax_included FROM event_price WHERE event_id = %(event)s
"""

SET: Final = """
INSERT INTO event_price (event_id, fee_minor, fee_basis_points, tax_basis_points, tax_included)
VALUES (%(event)s, %(fee_minor)s, %(fee_basis_points)s, %(tax_basis_points)s, %(tax_included)s)
ON CONFLICT (event_id) DO UPDATE SET fee_minor = excluded.fee_minor,
  fee_basis_points = excluded.fee_basis_points, tax_basis_points = excluded.tax_basis_points,
  tax_included = excluded.tax_included
"""

CATEGORIES: Final = """
SELECT plan::json ->> 'currency', (plan::json -> 'categories')::text
  FROM venue JOIN event ON event.venue_id = venue.id
 WHERE event.id = %(event)s
"""

_decode_categories = msgspec.json.Decoder(list[Category]).decode


class EventPrices(msgspec.Struct, frozen=True):
    """What seats of each category cost, and why."""

    currency: str
    terms: PriceTerms
    categories: list[CategoryPrice]


class ShownPrices(EventPrices, frozen=True):
    """And what was moved to other categories since the sale began: what is had costs what it did then."""

    moved: list[PlanMove] = []


def read(conn: Conn, event_id: int) -> EventPrices:
    """What there is to pay at this event."""
    values = {"event": event_id}
    row = conn.execute(CATEGORIES, values).fetchone()
    assert row is not None, "an event has a venue"
    currency, categories = row
    terms = _terms(conn, values)
    return EventPrices(currency, terms, of_categories(_decode_categories(categories), terms))


def set_terms(
    conn: Conn, slug: str, terms: PriceTerms, said: Said, *, seen: PriceTerms | None = None
) -> EventPrices:
    """Settle fees and tax of an event that has not begun; the same again changes nothing.

    With `seen`, only if they are still that. Raises `NotFound`, `BadRequest` for a value out of bounds,
    `Conflicted`: prices_fixed once it has begun, prices_changed where they are others than those seen.
    """
    try:
        terms = msgspec.convert(msgspec.to_builtins(terms), PriceTerms)
    except msgspec.ValidationError as error:
        raise BadRequest("invalid_prices", f"Fees and tax cannot be these: {error}.") from None
    event = get_event(conn, slug)
    values: dict[str, Any] = {"event": event.id, **msgspec.to_builtins(terms)}

    def attempt() -> EventPrices:
        state = EventState(conn.execute(LOCK_EVENT, values).fetchall()[0][0])
        now = _terms(conn, values)
        if now != terms:
            if state not in BEFORE_THE_SALE:
                story = f"Event {slug!r} is {state}; once buyers saw what it costs, fees and tax stay."
                raise Conflicted("prices_fixed", story)
            if seen not in (None, now):
                story = f"Fees and tax of {slug!r} are others by now. Nothing was changed; look again."
                raise Conflicted("prices_changed", story)
            conn.execute(SET, values)
            what = {"change": "prices", "seats": [], "areas": {}, **msgspec.to_builtins(terms)}
            audit.write(conn, event.id, said, what)
        return read(conn, event.id)

    return in_transaction(conn, attempt)


def _terms(conn: Conn, values: dict[str, Any]) -> PriceTerms:
    row = conn.execute(READ, values).fetchone()
    return PriceTerms() if row is None else PriceTerms(*row)
