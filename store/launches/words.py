"""What a launch is made of, and what is told of one. Types only."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Final

from msgspec import Struct, field

from store.event_prices import EventPrices
from store.events import Event
from store.plan import Plan
from store.prices import PriceTerms
from store.room.look import Look
from store.room.words import RoomTerms
from store.terms import Terms
from store.venues.source import PlanFile, PlanMade

CODES_MAX: Final = 20
"""Labels of codes that one launch makes."""


class Begin(StrEnum):
    """How far the event is brought at once."""

    DRAFT = "draft"
    LOBBY = "lobby"
    """Buyers may join its waiting room."""
    OPEN = "open"


class NewEvent(Terms, frozen=True, kw_only=True):
    """The event's name and terms; the name is the slug unless given."""

    slug: str
    name: str = ""
    opens_at: datetime | None = None
    """When its sale begins by itself."""
    lobby_opens_at: datetime | None = None
    """When its lobby does."""
    tour: str | None = None
    """The slug of a tour it becomes a date of."""


class NewPrices(PriceTerms, frozen=True, kw_only=True):
    """What the plan's categories cost at this event, in the smallest unit of money, and fees and tax.

    A category that is left out costs what its plan says.
    """

    currency: str | None = None
    categories: dict[str, int] = field(default_factory=dict)


class NewCodes(Struct, frozen=True, kw_only=True):
    """So many codes for the priority lane, each for so many buyers; `label` says for whom."""

    label: str
    count: int = 1
    uses: int = 1


class Launch(Struct, frozen=True, kw_only=True):
    """All of it. The plan is a venue that is there, a file, or one that is made: one of the three."""

    event: NewEvent
    venue: str | None = None
    plan: PlanFile | None = None
    make: PlanMade | None = None
    venue_slug: str | None = None
    """Under which a new plan is kept; the event's slug unless given."""
    prices: NewPrices = field(default_factory=NewPrices)
    room: RoomTerms | None = None
    look: Look | None = None
    message: str | None = None
    codes: list[NewCodes] = field(default_factory=list)
    begin: Begin = Begin.DRAFT
    who: str = ""
    why: str = ""


class MadeCodes(Struct, frozen=True):
    """New codes; they are told this once."""

    label: str
    uses: int
    codes: tuple[str, ...]


class Launched(Struct, frozen=True):
    """What was made."""

    event: Event
    venue: str
    """Its plan's slug."""
    seats: int
    places: int
    prices: EventPrices
    room: RoomTerms | None
    seed_sha256: str | None
    """Of the waiting room's draw: published before anybody joins."""
    codes: list[MadeCodes]


class Checked(Struct, frozen=True):
    """A launch of which everything that can be known before it is made is in order."""

    launch: Launch
    plan: Plan
    venue_id: int | None
    """Of a plan that is there already and stays as it is; else it is kept as a new one."""
