"""What a buyer may say: the socket's frames and the body of a POST, decoded under the same rules.

`request_schema` is generated from the same types the decoder uses, so the published OpenAPI cannot
drift from what is accepted.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from gateway.problems import TooLarge
from store.errors import BadRequest
from store.words import (
    APART_MAX,
    FALLBACKS_MAX,
    PARTIES_MAX,
    QUANTITY_MAX,
    REQUEST_BYTES_MAX,
    Best,
    Choice,
    HoldText,
    Quantity,
    ShortText,
    Want,
)

RESUME_MAX = 100
TOKEN_LENGTH_MAX = 4096
HOLD_ID_MAX = 2**63 - 1

# "(?!\n)": Python's $ also matches before a last newline, JavaScript's (and JSON Schema's) does not.
RequestId = Annotated[str, Meta(pattern=r"^[A-Za-z0-9._~-]{1,64}$(?!\n)")]
EventSlug = Annotated[str, Meta(pattern=r"^[a-z0-9-]{1,64}$(?!\n)")]

is_request_id = re.compile(r"[A-Za-z0-9._~-]{1,64}").fullmatch
is_event_slug = re.compile(r"[a-z0-9-]{1,64}").fullmatch


class Frame(Struct, frozen=True, tag_field="type", forbid_unknown_fields=True):
    """What a client sends; `type` says which."""


class Hello(Frame, frozen=True, tag="hello"):
    event: EventSlug
    token: Annotated[str, Meta(max_length=TOKEN_LENGTH_MAX)]
    watch: bool = False


class Request(Frame, frozen=True, tag="request"):
    """A `Want` with its key; `again` says it may have been asked before."""

    id: RequestId
    seats: Annotated[tuple[ShortText, ...], Meta(max_length=QUANTITY_MAX)] = ()
    best: Best | Annotated[tuple[Best, ...], Meta(max_length=PARTIES_MAX)] | None = None
    areas: Annotated[dict[ShortText, Quantity], Meta(max_length=QUANTITY_MAX)] = {}
    up_to: bool = False
    fallbacks: Annotated[tuple[Choice, ...], Meta(max_length=FALLBACKS_MAX)] = ()
    move: HoldText | UnsetType = UNSET
    waitlist: bool = False
    again: bool = False


class Resume(Frame, frozen=True, tag="resume"):
    ids: Annotated[tuple[RequestId, ...], Meta(max_length=RESUME_MAX)]


Seats = Annotated[tuple[ShortText, ...], Meta(max_length=QUANTITY_MAX)]
Areas = Annotated[dict[ShortText, Quantity], Meta(max_length=QUANTITY_MAX)]
_LABEL = "[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_EMAIL = rf"^[A-Za-z0-9.!#$%&'*+/=?^_`{{|}}~-]{{1,64}}@{_LABEL}(?:\.{_LABEL})*$(?!\n)"
"""As HTML has it: one address, with nothing in it that a mail's header reads as more."""
Email = Annotated[str, Meta(pattern=_EMAIL, max_length=254)]
EndsAt = Annotated[int, Meta(ge=0, le=2**53 - 1)]


class Release(Frame, frozen=True, tag="release"):
    """Give a hold back; or the seats and places that are named, if the hold has `quantity` of them all."""

    hold: HoldText
    seats: Seats | UnsetType = UNSET
    areas: Areas | UnsetType = UNSET
    quantity: Quantity | UnsetType = UNSET


class Confirm(Frame, frozen=True, tag="confirm"):
    hold: HoldText


class Extend(Frame, frozen=True, tag="extend"):
    """Let a hold run on that ends at `expires_at` (ms); twice as long for who needs more time."""

    hold: HoldText
    expires_at: EndsAt
    accessible: bool = False


class Waiting(Frame, frozen=True, tag="waiting"):
    """What of mine is on the waiting list, now and whenever it changes?"""


class Leave(Frame, frozen=True, tag="leave"):
    """Take a request off the waiting list."""

    id: RequestId


CODE_LENGTH_MAX = 200
PROOF_LENGTH_MAX = 2_000
HUMAN_LENGTH_MAX = 4_096
"""Turnstile's has at most 2,048 characters."""
Code = Annotated[str, Meta(min_length=1, max_length=CODE_LENGTH_MAX)]
Proof = Annotated[str, Meta(max_length=PROOF_LENGTH_MAX)]
Human = Annotated[str, Meta(max_length=HUMAN_LENGTH_MAX)]


class Join(Frame, frozen=True, tag="join"):
    """A place in the waiting room, or the one there is."""

    code: Code | UnsetType = UNSET
    """To the priority lane."""
    proof: Proof | UnsetType = UNSET
    """That a computer worked for it."""
    human: Human | UnsetType = UNSET
    """What the human check gave the page, where there is one."""
    email: Email | UnsetType = UNSET
    """Where the buyer is told that it is their turn."""


class Begin(Frame, frozen=True, tag="begin"):
    """Who was called begins."""


class MoreTime(Frame, frozen=True, tag="more_time"):
    """More time to begin, or to shop who has begun; `end` (ms): when it ends as its buyer knows it."""

    end: EndsAt


class LeaveLine(Frame, frozen=True, tag="leave_line"):
    """Give the place up."""


class Wish(Frame, frozen=True, tag="wish"):
    """File a wish for the ballot in place of any other; null withdraws it. Without `want`: what is filed?"""

    want: Want | UnsetType | None = UNSET


class JoinBody(Struct, frozen=True, forbid_unknown_fields=True):
    """As `join`."""

    code: Code | UnsetType = UNSET
    proof: Proof | UnsetType = UNSET
    human: Human | UnsetType = UNSET
    email: Email | UnsetType = UNSET


class MoreTimeBody(Struct, frozen=True, forbid_unknown_fields=True):
    """As `more_time`."""

    end: EndsAt


class ResumeBody(Struct, frozen=True, forbid_unknown_fields=True):
    """The token of a place."""

    token: Annotated[str, Meta(max_length=TOKEN_LENGTH_MAX)]


class ReleaseBody(Struct, frozen=True, forbid_unknown_fields=True):
    """What `release` names; nothing at all: the whole hold."""

    seats: Seats | UnsetType = UNSET
    areas: Areas | UnsetType = UNSET
    quantity: Quantity | UnsetType = UNSET


class ExtendBody(Struct, frozen=True, forbid_unknown_fields=True):
    """`expires_at` (ms): the end of the hold as its holder knows it."""

    expires_at: EndsAt
    accessible: bool = False


class PaymentBody(Struct, frozen=True, forbid_unknown_fields=True):
    """`email`: where the buyer wants to hear of the payment."""

    email: Email | None = None


class _Named(Struct):
    id: RequestId


RoomFrame = Begin | MoreTime | LeaveLine | Wish
"""What is done with a place; joining has its own way."""
ClientFrame = Hello | Request | Resume | Release | Confirm | Extend | Waiting | Leave | Join | RoomFrame

_decode_frame: Any = msgspec.json.Decoder(ClientFrame).decode
_decode_want = msgspec.json.Decoder(Want).decode
_decode_named = msgspec.json.Decoder(_Named).decode

Body = TypeVar("Body", bound=Struct)


def frame_from_json(text: str) -> ClientFrame:
    """A client's frame; raises `TooLarge` (frame_too_large) or `BadRequest` (bad_frame, email_not_valid)."""
    if len(text) > REQUEST_BYTES_MAX or (not text.isascii() and len(text.encode()) > REQUEST_BYTES_MAX):
        raise TooLarge("frame_too_large", f"A frame has at most {REQUEST_BYTES_MAX} bytes.")
    try:
        frame: ClientFrame = _decode_frame(text)
        return frame
    except (msgspec.DecodeError, RecursionError) as error:
        raise _refusal("bad_frame", error) from None


def _refusal(code: str, error: Exception) -> BadRequest:
    """Of a frame or a join. The address a join names is typed by people, and refused in words for them."""
    if str(error).endswith("`$.email`"):
        story = "Nobody can be written to at this address. Write one like ann@example.org, or leave it out."
        return BadRequest("email_not_valid", story)
    return BadRequest(code, str(error))


def id_in(text: str) -> str | None:
    """The request id in a frame that cannot be understood otherwise, to say which one was refused."""
    try:
        return _decode_named(text).id
    except (msgspec.DecodeError, RecursionError):
        return None


def want_of(frame: Request) -> Want:
    """What a `request` frame asks for; raises `BadRequest` as `request_from_json`."""
    choices = (frame.seats, frame.best, frame.areas, frame.up_to, frame.fallbacks)
    return check(Want(*choices, frame.move, frame.waitlist))


def request_from_json(body: bytes) -> Want:
    """The body of a POST; raises `TooLarge` (body_too_large) or `BadRequest` (bad_body)."""
    if len(body) > REQUEST_BYTES_MAX:
        raise TooLarge("body_too_large", f"A request has at most {REQUEST_BYTES_MAX} bytes.")
    try:
        want = _decode_want(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadRequest("bad_body", str(error)) from None
    return check(want)


def body_from_json(body: bytes, kind: type[Body]) -> Body:
    """The body of a call; raises `TooLarge` (body_too_large) or `BadRequest` (bad_body, email_not_valid)."""
    if len(body) > REQUEST_BYTES_MAX:
        raise TooLarge("body_too_large", f"A request has at most {REQUEST_BYTES_MAX} bytes.")
    try:
        return msgspec.json.decode(body, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        if kind is JoinBody:
            raise _refusal("bad_body", error) from None
        raise BadRequest("bad_body", str(error)) from None


def named(release: Release | ReleaseBody) -> tuple[tuple[str, ...], dict[str, int]] | None:
    """Seats and places a release names; None for the whole hold. Raises `BadRequest` (nothing_named,
    seat_twice).
    """
    if release.seats is UNSET and release.areas is UNSET and release.quantity is UNSET:
        return None
    seats = () if release.seats is UNSET else release.seats
    areas = {} if release.areas is UNSET else release.areas
    if not seats and not areas:
        raise BadRequest("nothing_named", "Name seats or places to give back, or nothing for the whole hold.")
    if len(set(seats)) != len(seats):
        raise BadRequest("seat_twice", "A seat can be named once.")
    return seats, areas


def check(want: Want) -> Want:
    """Every choice asks for something, for no seat twice, and for nothing that contradicts itself."""
    _check_choice(want)
    for fallback in want.fallbacks:
        _check_choice(fallback)
    if want.waitlist and want.move is not UNSET:
        raise BadRequest("waitlist_with_move", "Move a hold or wait for something: ask for each by itself.")
    return want


def _check_choice(choice: Choice) -> None:
    seats = choice.seats
    if len(seats) == 1 and choice.best is None and not choice.areas:
        return
    if len(seats) > 1 and len(set(seats)) != len(seats):
        raise BadRequest("seat_twice", "A seat can be named once.")
    quantity = len(seats) + sum([best.quantity for best in choice.parties]) + sum(choice.areas.values())
    if not quantity:
        raise BadRequest("nothing_asked", "Ask for seats, best or areas, in every fallback too.")
    if quantity > QUANTITY_MAX:
        raise BadRequest("too_many_asked", f"Ask for at most {QUANTITY_MAX} seats and places at a time.")
    for best in choice.parties:
        if best.accessible > best.quantity:
            raise BadRequest("too_many_accessible", "`accessible` counts some of the party's `quantity`.")
        if best.apart and best.quantity > APART_MAX:
            raise BadRequest("too_large_apart", f"A party of at most {APART_MAX} can be seated apart.")
        if best.price_min is not None and best.price_max is not None and best.price_min > best.price_max:
            raise BadRequest("prices_crossed", "`price_min` is above `price_max`: no seat costs that.")


def body_schemas() -> dict[str, dict[str, Any]]:
    """JSON Schemas of bodies that msgspec decodes, by name; say all that is checked of them."""
    schemas = {
        kind.__name__: msgspec.json.schema(kind)["$defs"][kind.__name__]
        for kind in (ReleaseBody, ExtendBody, JoinBody, MoreTimeBody, ResumeBody)
    }
    release = schemas["ReleaseBody"]
    release["properties"]["seats"]["uniqueItems"] = True
    release["anyOf"] = [
        {"maxProperties": 0},
        {"required": ["seats"], "properties": {"seats": {"minItems": 1}}},
        {"required": ["areas"], "properties": {"areas": {"minProperties": 1}}},
    ]
    return schemas


def request_schema() -> tuple[dict[str, Any], dict[str, Any]]:
    """(JSON Schema of a POST's body, the components it refers to); says all that `request_from_json` does."""
    (schema,), components = msgspec.json.schema_components([Want], ref_template="#/components/schemas/{name}")
    for choice in (components["Want"], components["Choice"]):
        choice["properties"]["seats"]["uniqueItems"] = True
        choice["anyOf"] = [
            {"required": ["seats"], "properties": {"seats": {"minItems": 1}}},
            {"required": ["best"], "properties": {"best": {"type": "object"}}},
            {"required": ["best"], "properties": {"best": {"type": "array", "minItems": 1}}},
            {"required": ["areas"], "properties": {"areas": {"minProperties": 1}}},
        ]
    components["Want"]["not"] = {
        "required": ["move", "waitlist"],
        "properties": {"waitlist": {"const": True}},
    }
    return schema, components
