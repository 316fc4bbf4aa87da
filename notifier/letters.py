"""What buyers are told by mail, in plain words: pure.

Names of events and venues are what organisers wrote: whatever is no character to print leaves them, so none
begins a line or a header of its own, and letters know no markup (`notifier.mail` escapes all of it).
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, tzinfo
from typing import Any, Final

from msgspec import Struct

from store.mail import Alone
from store.outbox import Told

_DECIMALS: Final = {0: "BIF CLP DJF GNF JPY KMF KRW MGA PYG RWF UGX VND VUV XAF XOF XPF",
                    3: "BHD IQD JOD KWD LYD OMR TND"}  # fmt: skip
"""ISO 4217: currencies whose smallest unit is no hundredth."""
_DECIMALS_OF: Final = {code: digits for digits, codes in _DECIMALS.items() for code in codes.split()}


_DAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTHS: Final = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
    "November", "December",
)  # fmt: skip


class Letter(Struct, frozen=True):
    """What a mail says; `link` is where there is more."""

    subject: str
    lines: tuple[str, ...]
    link: str | None = None
    link_says: str = ""


class About(Struct, frozen=True):
    """The event a letter is about, as it is now; `url` is its page, `pages` that of all events."""

    name: str
    url: str
    venue: str = ""
    starts_at: datetime | None = None
    zone: tzinfo = UTC

    @property
    def pages(self) -> str:
        """What the addresses of events' pages begin with."""
        return self.url.rpartition("/")[0]


def letter(kind: Told | Alone, body: Mapping[str, Any], about: About) -> Letter | None:
    """What the buyer is told of an outbox row or by mail alone, or None where it is not told by mail."""
    event, amount = plain(about.name), _amount(body, "amount_minor")
    tickets = f"{about.url}/tickets/{body['order']}" if body.get("order") else None
    match kind:
        case Told.ORDER_PAID if body.get("moved_from"):
            return _came_along(body, event, about, tickets)
        case Told.ORDER_PAID:
            lines = (
                "Your order is confirmed: the places are yours.",
                *_when_and_where(about),
                f"We received {amount}. Thank you." if amount else "Thank you.",
                f"Your order number: {body['order']}",
            )
            return Letter(f"Your tickets for {event}", lines, tickets, "See your tickets")
        case Told.PAYMENT_LATE:
            return Letter(
                f"Your payment for {event} came late",
                (
                    f"Your payment of {amount} arrived after your hold had run out.",
                    "We are asking for the same places again for you. You need not do anything.",
                    "If they can be had, your tickets follow. If not, all of your money goes back to you.",
                ),
            )
        case Told.PAYMENT_REFUND_DUE:
            return Letter(
                f"Your money for {event} goes back to you",
                (
                    _WHY.get(str(body.get("reason")), "We could not give you the places you paid for."),
                    f"We are sorry. All of it, {amount}, goes back to where it came from.",
                    "You need not do anything. We write again as soon as it is on its way.",
                ),
            )
        case Told.PAYMENT_REFUNDED:
            return Letter(
                f"Your refund for {event} is on its way",
                (
                    f"{amount} went back to where the payment came from.",
                    "Until you see it, your bank may take some days.",
                ),
            )
        case Told.ORDER_CHANGED | Told.ORDER_REFUNDED:
            return _taken_back(body, event, tickets, whole=kind is Told.ORDER_REFUNDED)
        case Told.EVENT_CANCELED:
            return _canceled(body, event, about)
        case Told.EVENT_MOVED:
            return _moved(body, event, about)
        case Alone.PLACE_ADMITTED:
            return _your_turn(body, event, about)
        case _:
            return None


_WHY: Final = {
    "late": "Your payment arrived after your hold had run out, and somebody else may have the places now.",
    "seats_gone": "Your payment arrived after your hold had run out, and the places were given to others.",
    "hold_released": "You had given these places back before your payment arrived.",
    "hold_changed": "You had given some of these places back before your payment arrived.",
    "paid_twice": "These places were paid for twice.",
}
_THEN: Final = "You need not do anything. We write again as soon as it is on its way."
_OFF: Final = {
    "event_canceled": "This event is canceled, so your order was taken back. Its tickets are void.",
    "event_moved": "This event was moved, and your places cannot be had at the new date: it was taken back.",
}


def _taken_back(body: Mapping[str, Any], event: str, tickets: str | None, *, whole: bool) -> Letter:
    amount = _amount(body, "refund_minor")
    back = (
        f"{amount} goes back to where the payment came from." if amount else "What you paid for it goes back."
    )
    if whole:
        why = _OFF.get(str(body.get("reason")))
        lines = (why or "Your order was taken back, and its tickets are no longer valid.", back, _THEN)
        return Letter(f"Your order for {event} was taken back", lines)
    lines = ("Some of your order was taken back. The other tickets are valid as before.", back, _THEN)
    return Letter(f"Your order for {event} has changed", lines, tickets, "See your tickets")


def _canceled(body: Mapping[str, Any], event: str, about: About) -> Letter:
    amount = _amount(body, "amount_minor")
    lines = (
        f"We are sorry: {event} does not take place, and your tickets are no longer valid.",
        *_facts(("It was to be", _date(body.get("starts_at"), about)), ("Place", body.get("venue"))),
        f"All that you paid for it and have not got back yet, {amount}, goes back to where it came from."
        if amount
        else "What you paid for it goes back to where it came from.",
        f"{_THEN} From then on your bank may take some days to show it.",
    )
    return Letter(f"{event} is canceled", lines, about.url, "More about it")


def _moved(body: Mapping[str, Any], event: str, about: About) -> Letter:
    to, place, there = plain(body.get("to_name")), plain(body.get("venue")), plain(body.get("to_venue"))
    lines = (
        f"{event} does not take place as planned: it was moved.",
        *_facts(
            ("Old date", _date(body.get("starts_at"), about)),
            (
                "New date",
                _date(body.get("to_starts_at"), about) or "not known yet; see the page below",
            ),
            ("Place", f"{there} (it was {place})" if there != place and there and place else there or place),
            ("It is now called", to if to != event else ""),
        ),
        "Your order goes along: the same places, at the price you paid. You need not do anything.",
        "We write again with your new tickets; those you have are no longer valid then.",
        "If your places cannot be had at the new date, all that you paid goes back to where it came from.",
    )
    page = f"{about.pages}/{body['to']}" if body.get("to") else about.url
    return Letter(f"{event} was moved", lines, page, "See what changed")


def _came_along(body: Mapping[str, Any], event: str, about: About, tickets: str | None) -> Letter:
    lines = (
        f"Your order {body['moved_from']['order']} was moved: the same places, nothing to pay.",
        *_when_and_where(about),
        f"Your new order number: {body['order']}",
        "The tickets you had are no longer valid. Please take the new ones with you.",
    )
    return Letter(f"Your new tickets for {event}", lines, tickets, "See your new tickets")


def _your_turn(body: Mapping[str, Any], event: str, about: About) -> Letter:
    lines = (
        f"It is your turn to choose your places for {event}.",
        *_facts(("Please begin by", _date(body.get("begin_by"), about))),
        "Open the page where you joined the waiting room, or sign in there as you did then.",
        "If you come too late, join again: you are called before those who were behind you.",
    )
    return Letter(f"It is your turn: {event}", lines, about.url, "Begin now")


def _when_and_where(about: About) -> tuple[str, ...]:
    if about.starts_at is None:
        return ()
    return _facts(("Date", _said(about.starts_at, about.zone)), ("Place", about.venue))


def _facts(*facts: tuple[str, str | None]) -> tuple[str, ...]:
    return tuple([f"{name}: {plain(told)}" for name, told in facts if told])


def _date(written: str | None, about: About) -> str:
    return _said(datetime.fromisoformat(written), about.zone) if written else ""


def _said(moment: datetime, zone: tzinfo) -> str:
    """In English whatever the machine speaks, and with the zone: whoever reads it may be elsewhere."""
    there = moment.astimezone(zone)
    date = f"{_DAYS[there.weekday()]}, {there.day} {_MONTHS[there.month - 1]} {there.year}"
    return f"{date}, {there:%H:%M} {there.tzname()}"


def _amount(body: Mapping[str, Any], name: str) -> str:
    return money(body[name], body["currency"]) if body.get(name) and "currency" in body else ""


def plain(name: str | None) -> str:
    """A name on one line, of characters that can be printed."""
    kept = "".join([one if one.isprintable() else " " for one in name or ""])
    return " ".join(kept.split())


def money(amount_minor: int, currency: str) -> str:
    """An amount as people read it: 1234, EUR → 12.34 EUR."""
    digits = _DECIMALS_OF.get(currency, 2)
    whole, rest = divmod(amount_minor, 10**digits)
    return f"{whole:,}{f'.{rest:0{digits}}' if digits else ''} {currency}"
