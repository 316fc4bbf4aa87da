"""Reads a launch out of JSON, and names every field that cannot be read, not the first alone. Pure.

Each part is read field by field: what is of the wrong kind is an error of that field, and the others are
read on. A part with errors is given without the fields that have them, so that the rest can be checked too.
"""

from __future__ import annotations

import re
from typing import Any, Final, get_type_hints

import msgspec
from msgspec import Struct
from msgspec.structs import FieldInfo, fields

from store.errors import BadRequest, FieldError
from store.launches.words import Begin, NewCodes, NewEvent, NewPrices
from store.room.look import Look
from store.room.words import RoomTerms
from store.venues.source import PLAN_BYTES_MAX, PlanFile, PlanMade

_INDEX: Final = re.compile(r"\[(\d+)\]")

PARTS: Final[dict[str, type[Struct]]] = {
    "event": NewEvent,
    "plan": PlanFile,
    "make": PlanMade,
    "prices": NewPrices,
    "room": RoomTerms,
    "look": Look,
}
PLAIN: Final[dict[str, Any]] = {
    "venue": str | None,
    "venue_slug": str | None,
    "message": str | None,
    "codes": list[NewCodes],
    "begin": Begin,
    "who": str,
    "why": str,
}


class NotLaunched(BadRequest):
    """The launch is not in order; nothing was made."""

    def __init__(self, errors: list[FieldError]) -> None:
        said = "; ".join(f"{one.field}: {one.says}" for one in errors[:SAID_MAX])
        more = f"; and {len(errors) - SAID_MAX} more" if len(errors) > SAID_MAX else ""
        super().__init__("invalid_launch", f"Nothing was made. {said}{more}", errors)


LAUNCH_BYTES_MAX: Final = 2 * PLAN_BYTES_MAX
"""Of the body: a plan's text has its quotes and line ends escaped in JSON."""
SAID_MAX: Final = 5
"""So many errors are in the sentence; all of them are in `errors`."""
ERRORS_MAX: Final = 200


class Read(Struct):
    """What could be read: each part's good fields by name, and what was wrong with the others."""

    parts: dict[str, dict[str, Any]]
    plain: dict[str, Any]
    errors: list[FieldError]

    def wrong(self, field: str, says: str) -> None:
        """Notes an error."""
        if len(self.errors) < ERRORS_MAX:
            self.errors.append(FieldError(field, says))

    def is_wrong(self, field: str) -> bool:
        """Whether that field, or one in it, has an error."""
        return any(one.field == field or one.field.startswith(f"{field}.") for one in self.errors)


def read(raw: bytes) -> Read:
    """Raises `BadRequest` (invalid_body) for what is no JSON object at all."""
    try:
        body = msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BadRequest("invalid_body", f"The body cannot be read: {error}.") from None
    except RecursionError:
        raise BadRequest("invalid_body", "The body is nested too deeply.") from None
    if not isinstance(body, dict):
        raise BadRequest("invalid_body", "The body must be a JSON object with event, prices, room and so on.")
    found = Read({}, {}, [])
    for name, value in body.items():
        if name in PARTS:
            if value is not None or name == "event":
                _read_part(found, name, PARTS[name], value)
        elif name in PLAIN:
            _read_value(found, found.plain, name, name, PLAIN[name], value)
        else:
            found.wrong(name[:64], f"is no field of a launch; there are {', '.join([*PARTS, *PLAIN])}")
    if "event" not in body:
        found.wrong("event", "is needed: the event's slug, name and terms")
    return found


def _read_part(found: Read, path: str, kind: type[Struct], value: Any) -> None:
    if not isinstance(value, dict):
        found.wrong(path, "must be an object")
        return
    known: dict[str, FieldInfo] = {one.encode_name: one for one in fields(kind)}
    hints = get_type_hints(kind, include_extras=True)
    good = found.parts.setdefault(path, {})
    for name, given in value.items():
        if name in known:
            _read_value(found, good, name, f"{path}.{name}", hints[known[name].name], given)
        else:
            found.wrong(f"{path}.{name[:64]}", f"is not known here; there are {', '.join(known)}")
    for name, one in known.items():
        if one.required and name not in value:
            found.wrong(f"{path}.{name}", "is needed")


def _read_value(found: Read, good: dict[str, Any], name: str, path: str, kind: Any, value: Any) -> None:
    try:
        good[name] = msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        reason, _, inner = str(error).partition(" - at `")
        within = _INDEX.sub(r".\1", inner.rstrip("`").removeprefix("key in ").removeprefix("$"))
        found.wrong(path + within.replace("[...]", ""), reason[0].lower() + reason[1:])
