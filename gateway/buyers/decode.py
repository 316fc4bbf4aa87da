"""What a buyer may say: the socket's frames and the body of a POST, decoded under the same rules.

`request_schema` is generated from the same types the decoder uses, so the published OpenAPI cannot
drift from what is accepted.
"""

from __future__ import annotations

import re
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from gateway.problems import TooLarge
from store.errors import BadRequest
from store.words import REQUEST_BYTES_MAX, Best, Quantity, ShortText, Want

RESUME_MAX = 100
TOKEN_LENGTH_MAX = 4096
HOLD_ID_MAX = 2**63 - 1

# "(?!\n)": Python's $ also matches before a last newline, JavaScript's (and JSON Schema's) does not.
RequestId = Annotated[str, Meta(pattern=r"^[A-Za-z0-9._~-]{1,64}$(?!\n)")]
EventSlug = Annotated[str, Meta(pattern=r"^[a-z0-9-]{1,64}$(?!\n)")]
HoldText = Annotated[str, Meta(pattern=r"^[1-9][0-9]{0,18}$(?!\n)")]

is_request_id = re.compile(r"[A-Za-z0-9._~-]{1,64}").fullmatch
is_event_slug = re.compile(r"[a-z0-9-]{1,64}").fullmatch
is_hold = re.compile(r"[1-9][0-9]{0,18}").fullmatch


class Frame(Struct, frozen=True, tag_field="type", forbid_unknown_fields=True):
    """What a client sends; `type` says which."""


class Hello(Frame, frozen=True, tag="hello"):
    event: EventSlug
    token: Annotated[str, Meta(max_length=TOKEN_LENGTH_MAX)]
    watch: bool = False


class Request(Frame, frozen=True, tag="request"):
    """A `Want` with its key; `again` says it may have been asked before."""

    id: RequestId
    seats: Annotated[tuple[ShortText, ...], Meta(max_length=50)] = ()
    best: Best | None = None
    areas: Annotated[dict[ShortText, Quantity], Meta(max_length=50)] = {}
    again: bool = False


class Resume(Frame, frozen=True, tag="resume"):
    ids: Annotated[tuple[RequestId, ...], Meta(max_length=RESUME_MAX)]


class Release(Frame, frozen=True, tag="release"):
    hold: HoldText


class Confirm(Frame, frozen=True, tag="confirm"):
    hold: HoldText


class _Named(Struct):
    id: RequestId


_decode_frame: Any = msgspec.json.Decoder(Hello | Request | Resume | Release | Confirm).decode
_decode_want = msgspec.json.Decoder(Want).decode
_decode_named = msgspec.json.Decoder(_Named).decode

ClientFrame = Hello | Request | Resume | Release | Confirm


def frame_from_json(text: str) -> ClientFrame:
    """A client's frame; raises `TooLarge` (frame_too_large) or `BadRequest` (bad_frame)."""
    if len(text) > REQUEST_BYTES_MAX or (not text.isascii() and len(text.encode()) > REQUEST_BYTES_MAX):
        raise TooLarge("frame_too_large", f"A frame has at most {REQUEST_BYTES_MAX} bytes.")
    try:
        frame: ClientFrame = _decode_frame(text)
        return frame
    except (msgspec.DecodeError, RecursionError) as error:
        raise BadRequest("bad_frame", str(error)) from None


def id_in(text: str) -> str | None:
    """The request id in a frame that cannot be understood otherwise, to say which one was refused."""
    try:
        return _decode_named(text).id
    except (msgspec.DecodeError, RecursionError):
        return None


def want_of(frame: Request) -> Want:
    """What a `request` frame asks for; raises `BadRequest` as `request_from_json`."""
    return check(Want(frame.seats, frame.best, frame.areas))


def request_from_json(body: bytes) -> Want:
    """The body of a POST; raises `TooLarge` (body_too_large) or `BadRequest` (bad_body)."""
    if len(body) > REQUEST_BYTES_MAX:
        raise TooLarge("body_too_large", f"A request has at most {REQUEST_BYTES_MAX} bytes.")
    try:
        want = _decode_want(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadRequest("bad_body", str(error)) from None
    return check(want)


def check(want: Want) -> Want:
    """Something is asked for, and no seat twice."""
    seats = want.seats
    if not seats and want.best is None and not want.areas:
        raise BadRequest("nothing_asked", "Ask for seats, best or areas.")
    if len(seats) > 1 and len(set(seats)) != len(seats):
        raise BadRequest("seat_twice", "A seat can be named once.")
    return want


def request_schema() -> tuple[dict[str, Any], dict[str, Any]]:
    """(JSON Schema of a POST's body, the components it refers to); says all that `request_from_json` does."""
    (schema,), components = msgspec.json.schema_components([Want], ref_template="#/components/schemas/{name}")
    want = components["Want"]
    want["properties"]["seats"]["uniqueItems"] = True
    want["anyOf"] = [
        {"required": ["seats"], "properties": {"seats": {"minItems": 1}}},
        {"required": ["best"], "properties": {"best": {"type": "object"}}},
        {"required": ["areas"], "properties": {"areas": {"minProperties": 1}}},
    ]
    return schema, components
