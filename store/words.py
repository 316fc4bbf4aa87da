"""The words every room shares: ids, states, what a buyer asks for and what is answered.

Everything that travels is a frozen msgspec struct, so a wire form is its type. Times are whole
microseconds since the Unix epoch, read from Postgres' clock (`batch_time`), never from a host's.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, NewType

from msgspec import UNSET, Meta, Struct, UnsetType

EventId = NewType("EventId", int)
SeatNo = NewType("SeatNo", int)
"""A seat's index in its plan; neighbours in a block have consecutive numbers."""
WaitId = NewType("WaitId", int)
"""`batch_no << 16 | position` of the decision that put a request on the waiting list: the list's order."""
HoldId = NewType("HoldId", int)
"""`batch_no << 16 | position` of the decision that gave the hold: unique within its event."""
Arrival = NewType("Arrival", str)
"""The stream id `milliseconds-sequence` a request was given: its place in the order."""
Micros = NewType("Micros", int)
"""Microseconds since the Unix epoch by Postgres' clock."""

QUANTITY_MAX = 50
"""Most seats or standing places one request may name; organisers set lower limits per buyer."""
PRICE_MINOR_MAX = 1_000_000_000
"""Highest price of a seat, in the currency's smallest unit."""
PARTIES_MAX = 8
"""Most parties of one choice that are seated apart from each other."""
APART_MAX = 12
"""Largest party that may be seated apart: the ways to part one grow with its size."""
FALLBACKS_MAX = 8
"""Most choices after the first."""
REQUEST_BYTES_MAX = 16 * 1024
"""Largest body or frame a buyer may send."""
WAITING_PER_BUYER_MAX = 4
"""Most requests of one buyer on an event's waiting list."""
WAITING_MAX = 200_000
"""Most requests on an event's waiting list."""
BATCH_SIZE_MAX = 4096
"""Most requests one transaction decides; positions must stay below 2**16 (see `HoldId`)."""
OPERATORS_HOLDS = 1 << 59
"""From here on ids are of what operators sold, numbered one after the other; decisions' are below."""


class EventState(StrEnum):
    """`draft → lobby → open ⇄ paused → closed`; sold out is derived, never stored."""

    DRAFT = "draft"
    LOBBY = "lobby"
    OPEN = "open"
    PAUSED = "paused"
    CLOSED = "closed"


class SeatState(StrEnum):
    AVAILABLE = "available"
    HELD = "held"
    SOLD = "sold"
    BLOCKED = "blocked"


class HoldState(StrEnum):
    """`active → paid / released / expired`, `paid → refunded`; a paid hold is an order."""

    ACTIVE = "active"
    PAID = "paid"
    RELEASED = "released"
    EXPIRED = "expired"
    REFUNDED = "refunded"
    """An order that was taken back whole."""


class HoldKind(StrEnum):
    """Who gave a hold: the allocator to a buyer who asked, or an operator by hand."""

    BUYER = "buyer"
    COMPLIMENTARY = "complimentary"
    BOX_OFFICE = "box_office"


class Outcome(StrEnum):
    """The one answer to a request."""

    HELD = "held"
    TAKEN = "taken"
    """A seat the buyer named is not free."""
    SOLD_OUT = "sold_out"
    """Nothing left that fits what the buyer described."""
    WAITLISTED = "waitlisted"
    """Nothing now that fits, and the buyer waits for what comes back: offers follow in the list's order."""
    LIMIT_REACHED = "limit_reached"
    CONFLICT = "conflict"
    """The key was used before with other content; the first decision stands."""
    CLOSED = "closed"
    """The event does not sell (draft, lobby, closed) at this point of the order."""
    INVALID = "invalid"
    """Cannot be decided: unknown seat, section, category or area, a hold to move that is none, or not
    readable."""


class FactKind(StrEnum):
    """What somebody else than the allocator changed, and the allocator must consume."""

    PAID = "paid"
    RELEASED = "released"
    """Given back: all of a hold, or what a `GivenBack` names."""
    POLICY = "policy"
    """The event's state or policy changed; carries a whole `Policy`."""
    BLOCKED = "blocked"
    """An operator took free seats and places off sale; carries `Blocks`."""
    UNBLOCKED = "unblocked"
    """And put them on sale again; carries `Blocks`."""
    EXTENDED = "extended"
    """A hold ends later; carries an `Extended`."""
    LEFT = "left"
    """A buyer left the waiting list; carries a `Left`."""
    SOLD = "sold"
    """An operator sold blocked seats and places as an order; carries a `Sold`."""
    RETURNED = "returned"
    """An operator took an order back, or some of it; carries a `Returned`."""
    RECATEGORISED = "recategorised"
    """An operator gave seats and areas another category while the event sells; carries a
    `Recategorise`."""
    ELSEWHERE = "elsewhere"
    """What a batch read of the tour's other dates: buyer → seats and places they have there, where there are
    any. Never a row of the fact table: the batch that reads it writes it into the ledger."""
    OUTAGE = "outage"
    """Nobody attended to the event for a while; holds that ran have the time back. Carries an `Outage`."""


class LedgerKind(StrEnum):
    REQUEST = "request"
    FACT = "fact"
    EXPIRED = "expired"
    OFFER = "offer"
    """What came free was given to a request on the waiting list, as a hold."""


ShortText = Annotated[str, Meta(min_length=1, max_length=64)]
HoldText = Annotated[str, Meta(pattern=r"^[1-9][0-9]{0,18}$(?!\n)")]
NameText = Annotated[str, Meta(min_length=1, max_length=100)]
Quantity = Annotated[int, Meta(ge=1, le=QUANTITY_MAX)]
Price = Annotated[int, Meta(ge=0, le=PRICE_MINOR_MAX)]


class Best(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Best available: `quantity` free seats beside each other, the best there are.

    See `allocator.seating` for the ladder: leaving no single seat free, then leaving one, then apart.
    """

    quantity: Quantity
    section: NameText | None = None
    category: NameText | None = None
    price_min: Price | None = None
    price_max: Price | None = None
    """In the currency's smallest unit, both included."""
    accessible: Annotated[int, Meta(ge=0, le=QUANTITY_MAX)] = 0
    """How many of the party need an accessible place; companions' seats come with it."""
    apart: bool = False
    """The party may be parted where it cannot sit together: as few parts, as near as possible."""


class Choice(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Named seats, best available (one party, or several that need not sit together), standing places: all
    or nothing, unless `up_to` says that fewer will do.
    """

    seats: Annotated[tuple[ShortText, ...], Meta(max_length=QUANTITY_MAX)] = ()
    best: Best | Annotated[tuple[Best, ...], Meta(max_length=PARTIES_MAX)] | None = None
    areas: Annotated[dict[ShortText, Quantity], Meta(max_length=QUANTITY_MAX)] = {}
    up_to: bool = False

    @property
    def parties(self) -> tuple[Best, ...]:
        """`best` as a tuple."""
        return () if self.best is None else (self.best,) if isinstance(self.best, Best) else self.best


class Want(Choice, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What a buyer asks for: a choice, and what will do instead, in this order, all decided in one go."""

    fallbacks: Annotated[tuple[Choice, ...], Meta(max_length=FALLBACKS_MAX)] = ()
    move: HoldText | UnsetType = UNSET
    """A hold of the buyer's that ends when one of these can be had instead of it."""
    waitlist: bool = False
    """Wait for what comes back when none of the choices can be had now."""

    @property
    def choices(self) -> tuple[Choice, ...]:
        """The first choice and the fallbacks."""
        return (self, *self.fallbacks)


class TourLimit(Struct, frozen=True):
    """The tour an event is a date of, and most seats and places one buyer may have across all its dates."""

    id: int
    seats_per_buyer_max: int


class Policy(Struct, frozen=True, omit_defaults=False):
    """What the organiser decided about an event and decisions depend on; part of the ledger."""

    state: EventState
    hold_ttl_seconds: int = 480
    seats_per_buyer_max: int = 8
    paused_at: Micros | None = None
    """Set while paused: holds expire by this time instead of the clock."""
    holds_extended_us: int = 0
    """Given on resume: the lost time every hold running at the pause got back."""
    offer_ttl_seconds: int = 600
    """How long what is offered to who waits is kept."""
    limits: dict[str, int] = {}
    """Category → most seats and places of it one buyer may have; 0: not for buyers. None for most events."""
    tour: TourLimit | None = None


class Blocks(Struct, frozen=True):
    """Seats and standing places that an operator blocked or unblocked together."""

    seats: tuple[int, ...] = ()
    """Seat numbers."""
    areas: tuple[tuple[int, int], ...] = ()
    """(area number, places)"""


class Extended(Struct, frozen=True):
    """The body of an `extended` fact."""

    by_us: int


class Left(Struct, frozen=True):
    """The body of a `left` fact."""

    wait: str
    """A `WaitId`."""


class GivenBack(Struct, frozen=True, omit_defaults=True):
    """The body of a `released` fact that leaves some of the hold: what was freed, by number of the plan."""

    seats: tuple[int, ...] = ()
    areas: tuple[tuple[int, int], ...] = ()
    """(area number, places)"""


class Sold(Struct, frozen=True):
    """The body of a `sold` fact: what was blocked and is an order of this buyer now, by number of the plan.

    It does not count towards the buyer's limit: an operator decided it.
    """

    buyer: str
    request_id: str
    kind: HoldKind
    seats: tuple[int, ...] = ()
    areas: tuple[tuple[int, int], ...] = ()
    """(area number, places)"""


class Returned(Struct, frozen=True):
    """The body of a `returned` fact: what an order has no longer, by number of the plan."""

    buyer: str
    counted: bool
    """It counted towards the buyer's limit: the buyer had asked for it."""
    blocked: bool
    """It is off sale now; else it is free."""
    seats: tuple[int, ...] = ()
    areas: tuple[tuple[int, int], ...] = ()
    """(area number, places)"""


class Outage(Struct, frozen=True):
    """The body of an `outage` fact: every hold that ran at `since` ends `lost_us` later."""

    since: Micros
    lost_us: int


class Recategorise(Struct, frozen=True):
    """The body of a `recategorised` fact: what is of this category from here on, by number of the plan."""

    version: int
    """Of the event's plan; the first move of a sale makes version 1, each further one the next."""
    category: int
    seats: tuple[int, ...] = ()
    areas: tuple[int, ...] = ()


class WasOf(Struct, frozen=True):
    """What such a move changed: numbers of the plan, each with the category it had."""

    seats: list[tuple[int, int]]
    areas: list[tuple[int, int]]


def one_of(column: str, *values: str) -> str:
    """SQL: the condition that a column has one of these values."""
    return f"{column} IN ({', '.join(repr(str(value)) for value in values)})"
