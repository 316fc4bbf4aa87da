"""What people read of the audit: who did what, when and why, in a table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from rich.console import RenderableType
from rich.table import Table

from onsale.commands.event_view import seats_named, terms_of
from store.audit import Audit, AuditRow
from store.prices import PriceTerms

What = Mapping[str, Any]
VALUE_LENGTH_MAX: Final = 60


def audited(rows: Sequence[Audit]) -> RenderableType:
    """An event's rows."""
    if not rows:
        return "Nobody has changed anything by hand."
    table = Table("when", "who", "what", "why", box=None)
    for row in rows:
        table.add_row(row.at.isoformat(" ", "seconds"), row.who, what_of(row), row.why)
    return table


def all_audited(rows: Sequence[AuditRow]) -> RenderableType:
    """Rows about whatever there is."""
    if not rows:
        return "Nobody has changed anything by hand."
    table = Table("id", "when", "event", "who", "what", "why", box=None)
    for row in rows:
        when = row.at.isoformat(" ", "seconds")
        table.add_row(str(row.id), when, row.event or "", row.who, what_of(row), row.why)
    return table


def what_of(row: Audit) -> str:
    """`block A-1, A-2 and floor 5`; long lists are cut."""
    change = str(row.what.get("change", ""))
    told = _TOLD.get(change)
    return _plainly(row.what) if told is None else told(row.what)


def _plainly(what: What) -> str:
    """Of whatever kind: `create key: key 3, name anna`."""
    told = [f"{name} {_short(value)}" for name, value in what.items() if name != "change" and value]
    change = str(what.get("change", "something"))
    return f"{change}: {', '.join(told)}" if told else change


def _short(value: Any) -> str:
    text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    return text if len(text) <= VALUE_LENGTH_MAX else f"{text[: VALUE_LENGTH_MAX - 1]}…"


def _seats(what: What) -> str:
    told = f"{what['change']} {seats_named(what['seats'], what['areas'])}"
    return f"{told} (hold {what['hold']} of {what['buyer']})" if "hold" in what else told


def _sold(what: What) -> str:
    told = f"{what['change']} {seats_named(what['seats'], what['areas'])}"
    return f"{told} (order {what['hold']} of {what['buyer']}, {what['as']})"


def _recategorised(what: What) -> str:
    return f"{what['change']} {seats_named(what['seats'], what['areas'])}: {what['category']} now"


def _priced(what: What) -> str:
    return f"prices: {terms_of(PriceTerms(**{name: what[name] for name in PriceTerms.__struct_fields__}))}"


def _terms(what: What) -> str:
    return f"{what['change']}: " + ", ".join(f"{name} {value}" for name, value in what["terms"].items())


def _message(what: What) -> str:
    return f"message: {what['text']}" if what["text"] else "no message any more"


def _codes(what: What) -> str:
    return f"{what['count']:,} codes for {what['label']}, {what['uses']:,} uses each"


def _revoked(what: What) -> str:
    parts = [f"{one['codes']:,} for {one['label']}" for one in what["revoked"]]
    return "codes revoked: " + ", ".join(parts)


_TOLD: Final[dict[str, Callable[[What], str]]] = {
    "prices": _priced,
    "join tour": lambda what: f"join tour {what['tour']}",
    "create event": lambda what: f"create {what['event']}",
    "create tour": lambda what: f"create tour {what['tour']}",
    "cancel": lambda what: "cancel the event",
    "move": lambda what: f"move its orders to {what['to']}",
    "state": lambda what: f"{what['from']} → {what['to']}",
    "admission": lambda what: f"admission {what['to']}",
    "message": _message,
    "look": lambda what: "another look",
    "codes": _codes,
    "revoke codes": _revoked,
    "make room": _terms,
    "room": _terms,
    "policy": _terms,
    "recategorise": _recategorised,
    "sell": _sold,
    **dict.fromkeys(("block", "unblock", "release", "return"), _seats),
}
