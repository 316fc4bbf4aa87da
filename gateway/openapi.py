"""The published description of the HTTP API: what each call may answer, and whose key it needs.

FastAPI knows the paths and parameters; bodies and answers are msgspec's and written below FastAPI, so what
they look like is said here, generated from the types that are encoded. Every call that is published must
be in `CALLS`: `describe` refuses one that is not. `tests/fuzz` holds the gateway to it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal

import msgspec
from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from msgspec import UNSET, Meta, Struct, UnsetType

from gateway import idempotency_key
from gateway.buyers.decode import body_schemas, request_schema
from gateway.calls import Call
from gateway.holders import ChangedHold
from gateway.idempotency_key import takes_key
from gateway.operators.console_described import CALLS as CONSOLE
from gateway.operators.described import CALLS as OPERATORS
from gateway.operators.fleet_described import CALLS as FLEET
from gateway.operators.launching_described import CALLS as LAUNCHING
from gateway.payments.notices import Heard
from gateway.problems import PROBLEM_TYPE
from gateway.room.described import CALLS as ROOM
from gateway.room.draws_described import CALLS as DRAWS
from gateway.room.protection_described import CALLS as ROOM_PROTECTION
from gateway.tickets.described import CALLS as TICKETS
from gateway.waiters import WaitingList
from store.audit import Audit
from store.calling_off.state import CalledOff
from store.chores.runs import ChoreRun
from store.errors import FieldError
from store.event_prices import EventPrices, ShownPrices
from store.events import Event
from store.figures.read import EventFigures, PublicFigures
from store.offered import Offered
from store.overview import Overview
from store.payments.settlement import Settlement
from store.payments.shown import ShownPayment
from store.payments.stuck import StuckRefund
from store.plan import Plan
from store.prices import PriceTerms
from store.recategorise import Recategorised
from store.sales import Order
from store.subscribers.edit import Replayed, WithSecret
from store.subscribers.show import Shown, Subscriber
from store.tours import Date, Tour
from store.waiting_overview import WaitingOverview
from store.words import EventState, Outcome

_REF = "#/components/schemas/{name}"
ArrivalText = Annotated[str, Meta(pattern=r"^[0-9]+-[0-9]+$")]


class Problem(Struct):
    """RFC 9457 with a stable `code`; `detail` says what to do next."""

    type: Literal["about:blank"]
    title: str
    status: int
    code: str
    detail: str
    errors: list[FieldError] | UnsetType = UNSET
    """Of what cannot be understood: each field that is wrong, where that is known."""


class PublicTour(Struct):
    """The tour an event is a date of, and most seats and places one buyer may have across all its dates."""

    slug: str
    name: str
    seats_per_buyer_max: int


class PublicElsewhere(Struct):
    """Where the orders of an event that was moved go; `starts_at` is the new date (ms)."""

    slug: str
    name: str
    venue: str
    starts_at: int | None


class PublicCalledOff(Struct):
    """An event that does not take place: where `to` is null it is canceled, and what was paid goes back."""

    at: int
    to: PublicElsewhere | None


class PublicEvent(Struct):
    """An event as buyers see it; times in milliseconds. At `lobby_opens_at` buyers may join its
    waiting room, at `opens_at` its sale begins; `starts_at`: when it takes place."""

    slug: str
    name: str
    state: EventState
    hold_ttl_seconds: int
    seats_per_buyer_max: int
    fast_gate: bool
    opens_at: int | None
    lobby_opens_at: int | None
    extensions_max: int
    extension_seconds: int
    offer_ttl_seconds: int
    prices: PriceTerms
    limits: dict[str, int]
    tour: PublicTour | None
    plan: str
    """SHA-256 of the plan, as in its ETag."""
    payment: Literal["none", "required"]
    late_payment: Literal["refund", "reacquire"]
    venue: str
    starts_at: int | None
    called_off: PublicCalledOff | None
    figures_on_page: bool


class PublicEvents(Struct):
    events: list[PublicEvent]


class SeatMap(Struct):
    """One letter a seat in plan order (a, h, s, b), places free of each area, and when the first of all holds
    runs out (ms)."""

    batch_no: int
    states: Annotated[str, Meta(pattern="^[ahsb]*$")]
    areas: list[int]
    held_until: int | None


class Decision(Struct):
    """The one answer to a request; what is in `result` depends on the outcome, see docs/protocol.md."""

    type: Literal["decision"]
    id: str
    arrival: ArrivalText
    outcome: Outcome
    result: dict[str, Any]


class Undecided(Struct):
    id: str
    arrival: ArrivalText | None
    state: Literal["undecided"]


class Accepted(Struct):
    id: str
    arrival: ArrivalText


class LeftList(Struct):
    id: str
    state: Literal["left"]


class DemoToken(Struct):
    token: str
    buyer: str


class Live(Struct):
    state: Literal["live"]


class Ready(Struct):
    state: Literal["ready", "not_ready"]
    database: bool
    stream: bool
    stopping: bool


class Events(Struct):
    events: list[Event]


class Chores(Struct):
    chores: list[ChoreRun]
    """Each also with its `trouble`, null where there is none."""
    stuck_refunds: list[StuckRefund]
    """Which their provider will never give."""


class Tours(Struct):
    tours: list[Tour]


class TourDates(Struct):
    tour: Tour
    events: list[Date]


class Webhooks(Struct):
    webhooks: list[Subscriber]


class TestMessage(Struct):
    message: str


class RemovedWebhook(Struct):
    id: str
    state: Literal["removed"]


class EventOverview(Overview, frozen=True):
    """How a sale stands; `undecided` is null when the stream does not answer."""

    undecided: int | None


class Stampede(Struct):
    """A stampede of the demo; `result` is the load generator's own JSON."""

    id: str
    state: Literal["running", "done", "failed"]
    buyers: int
    seats: int
    gate: Literal["on", "off"]
    result: dict[str, Any] | None
    message: str


_WHY = {
    400: "The request cannot be understood; `detail` says where.",
    401: "No token, or not a valid one.",
    403: "Not now, or not from here; see `code`.",
    404: "There is nothing of that name, or it is not yours.",
    405: "Not with this method; see `Allow`.",
    409: "The state of things does not allow it now; see `code`.",
    413: "The body is larger than this call takes.",
    422: "`key_reused`: the key is known with other content.",
    500: "What is known of it contradicts itself, and somebody was called.",
    429: "Too much of yours is under way; see `Retry-After`.",
    503: "Busy or an engine is away; see `Retry-After` and `code`.",
}
_RETRY_AFTER = {
    "Retry-After": {"description": "Seconds.", "schema": {"type": "string", "pattern": "^[0-9]+$"}}
}
_CHALLENGE = {"WWW-Authenticate": {"schema": {"type": "string", "const": "Bearer"}, "required": True}}
_LOCATION = {"Location": {"schema": {"type": "string", "pattern": "^/v1/"}, "required": True}}
_REFUSAL_HEADERS = {401: _CHALLENGE, 429: _RETRY_AFTER, 503: _RETRY_AFTER}


def _event_call() -> Call:
    return Call({200: ("The event as it is now.", Event)}, (400, 404, 409, 413, 503), "operator")


_PAYMENT = Call({200: ("The payment as it is now.", ShownPayment)}, (400, 401, 404, 409, 413, 503), "buyer")
_HOLD = Call({200: ("The hold as it is now.", ChangedHold)}, (400, 401, 404, 409, 413, 503), "buyer")
CALLS: dict[tuple[str, str], Call] = {
    ("get", "/v1/events"): Call({200: ("Newest first.", PublicEvents)}, (503,)),
    ("get", "/v1/events/{event}"): Call({200: ("The event.", PublicEvent)}, (400, 404, 503)),
    ("get", "/v1/events/{event}/plan"): Call(
        {200: ("The plan.", Plan), 304: ("You have it.", None)}, (400, 404, 503)
    ),
    ("get", "/v1/events/{event}/prices"): Call(
        {200: ("What each category costs.", ShownPrices)}, (400, 404, 503)
    ),
    ("get", "/v1/events/{event}/seats"): Call({200: ("The seat map.", SeatMap)}, (400, 404, 503)),
    ("get", "/v1/events/{event}/figures"): Call(
        {200: ("How much is sold, and what was just booked.", PublicFigures)}, (400, 404, 503)
    ),
    ("post", "/v1/events/{event}/requests"): Call(
        {
            200: ("The decision, where the client prefers to wait for it (`Prefer`).", Decision),
            202: ("On disk; `Location` says where its decision will be.", Accepted),
        },
        (400, 401, 404, 409, 413, 422, 429, 503),
        "buyer",
        located=True,
    ),
    ("get", "/v1/events/{event}/requests/{request_id}"): Call(
        {200: ("The decision.", Decision), 202: ("Not decided yet.", Undecided)},
        (400, 401, 404, 503),
        "buyer",
    ),
    ("post", "/v1/events/{event}/holds/{hold}/release"): _HOLD,
    ("post", "/v1/events/{event}/holds/{hold}/extend"): _HOLD,
    ("post", "/v1/events/{event}/holds/{hold}/confirm"): _HOLD,
    ("post", "/v1/events/{event}/holds/{hold}/payment"): _PAYMENT,
    ("get", "/v1/events/{event}/holds/{hold}/payment"): _PAYMENT,
    ("post", "/v1/payments/notices/{provider}"): Call(
        {200: ("It is true now, or was already.", Heard)}, (400, 404, 409, 413, 500, 503)
    ),
    ("get", "/v1/events/{event}/waiting"): Call(
        {200: ("What of yours is on the waiting list.", WaitingList)}, (400, 401, 404, 503), "buyer"
    ),
    ("post", "/v1/events/{event}/waiting/{request_id}/leave"): Call(
        {200: ("It is off the list.", LeftList)}, (400, 401, 404, 409, 503), "buyer"
    ),
    ("post", "/v1/demo/token"): Call({200: ("A token for nobody in particular.", DemoToken)}, (404,)),
    ("post", "/v1/demo/stampede"): Call(
        {202: ("It runs; ask for it at `Location`.", Stampede)}, (400, 403, 404, 413, 429), located=True
    ),
    ("get", "/v1/demo/stampede/{run_id}"): Call({200: ("How far it is.", Stampede)}, (404,)),
    ("get", "/health/live"): Call({200: ("The process answers.", Live)}),
    ("get", "/health/ready"): Call(
        {200: ("It can serve.", Ready), 503: ("An engine is away, or the gateway stops.", Ready)}
    ),
    ("get", "/v1/operator/events"): Call({200: ("Newest first.", Events)}, (503,), "operator"),
    ("post", "/v1/operator/events"): Call(
        {201: ("The event, a draft unless `open` was asked for.", Event)},
        (400, 404, 409, 413, 503),
        "operator",
        located=True,
    ),
    ("get", "/v1/operator/events/{event}"): Call(
        {200: ("How it stands.", EventOverview)}, (404, 503), "operator"
    ),
    ("get", "/v1/operator/events/{event}/waiting"): Call(
        {200: ("Who waits for what, and what became of the offers.", WaitingOverview)},
        (404, 503),
        "operator",
    ),
    ("patch", "/v1/operator/events/{event}/policy"): Call(
        {200: ("The event as it is now.", Event)}, (400, 404, 409, 413, 503), "operator"
    ),
    ("get", "/v1/operator/chores"): Call(
        {200: ("When each last ran, and what needs a hand.", Chores)}, (503,), "operator"
    ),
    ("get", "/v1/operator/tours"): Call({200: ("Newest first.", Tours)}, (503,), "operator"),
    ("post", "/v1/operator/tours"): Call(
        {201: ("The tour, without dates.", Tour)}, (400, 409, 413, 503), "operator", located=True
    ),
    ("get", "/v1/operator/tours/{tour}"): Call({200: ("With its dates.", TourDates)}, (404, 503), "operator"),
    ("post", "/v1/operator/tours/{tour}/events"): Call(
        {200: ("The event as it is now.", Event)}, (400, 404, 409, 413, 503), "operator"
    ),
    ("post", "/v1/operator/events/{event}/holds/{hold}/release"): Call(
        {200: ("The hold's state now.", ChangedHold)}, (400, 404, 409, 413, 503), "operator"
    ),
    ("post", "/v1/operator/events/{event}/sales"): Call(
        {200: ("The order.", Order)}, (400, 404, 409, 413, 503), "operator"
    ),
    ("post", "/v1/operator/events/{event}/orders/{hold}/return"): Call(
        {200: ("What is left of it.", Order)}, (400, 404, 409, 413, 503), "operator"
    ),
    ("post", "/v1/operator/events/{event}/categories"): Call(
        {200: ("What has this category now.", Recategorised)}, (400, 404, 409, 413, 503), "operator"
    ),
    ("get", "/v1/operator/events/{event}/prices"): Call(
        {200: ("What each category costs, and what has it.", Offered)},
        (404, 503),
        "operator",
    ),
    ("put", "/v1/operator/events/{event}/prices"): Call(
        {200: ("What each category costs now.", EventPrices)}, (400, 404, 409, 413, 503), "operator"
    ),
    ("get", "/v1/operator/events/{event}/figures"): Call(
        {200: ("What the sale has come to, with its age.", EventFigures)}, (404, 503), "operator"
    ),
    ("get", "/v1/operator/events/{event}/settlement"): Call(
        {200: ("What came in, what it is for, what goes back.", Settlement)}, (404, 503), "operator"
    ),
    ("get", "/v1/operator/events/{event}/settlement.csv"): Call(
        {200: ("The same, a line for each payment and order.", None)}, (404, 503), "operator"
    ),
    ("get", "/v1/operator/events/{event}/calling-off"): Call(
        {200: ("How far it is.", CalledOff)}, (404, 503), "operator"
    ),
    **{
        ("post", f"/v1/operator/events/{{event}}/{word}"): Call(
            {200: ("It has begun, or goes on: how far it is.", CalledOff)},
            (400, 404, 409, 413, 503),
            "operator",
        )
        for word in ("cancel", "move")
    },
    ("get", "/v1/operator/webhooks"): Call({200: ("Newest first.", Webhooks)}, (503,), "operator"),
    ("post", "/v1/operator/webhooks"): Call(
        {201: ("With its secret, which is not told again.", WithSecret)},
        (400, 404, 409, 413, 503),
        "operator",
        located=True,
    ),
    ("get", "/v1/operator/webhooks/{subscriber}"): Call(
        {200: ("With what was sent lately and what was not delivered.", Shown)},
        (400, 404, 503),
        "operator",
    ),
    ("post", "/v1/operator/webhooks/{subscriber}/rotate"): Call(
        {200: ("With its new secret.", WithSecret)}, (400, 404, 413, 503), "operator"
    ),
    ("post", "/v1/operator/webhooks/{subscriber}/replay"): Call(
        {200: ("What is tried again.", Replayed)}, (400, 404, 409, 413, 503), "operator"
    ),
    ("post", "/v1/operator/webhooks/{subscriber}/test"): Call(
        {202: ("A relay sends it; see the log.", TestMessage)}, (400, 404, 409, 413, 503), "operator"
    ),
    ("post", "/v1/operator/webhooks/{subscriber}/remove"): Call(
        {200: ("It is gone.", RemovedWebhook)}, (400, 404, 413, 503), "operator"
    ),
    **{
        ("post", f"/v1/operator/webhooks/{{subscriber}}/{word}"): Call(
            {200: ("The subscriber as it is now.", Subscriber)}, (400, 404, 413, 503), "operator"
        )
        for word in ("disable", "enable")
    },
    **{
        ("post", f"/v1/operator/events/{{event}}/{word}"): Call(
            {200: ("What was changed, as it is kept.", Audit)}, (400, 404, 409, 413, 503), "operator"
        )
        for word in ("blocks", "unblock")
    },
    **{
        ("post", f"/v1/operator/events/{{event}}/{word}"): _event_call()
        for word in ("lobby", "open", "pause", "resume", "close")
    },
    **OPERATORS,
    **CONSOLE,
    **LAUNCHING,
    **TICKETS,
    **FLEET,
    **ROOM_PROTECTION,
    **DRAWS,
    **ROOM,
}


def openapi(app: FastAPI) -> dict[str, Any]:
    """The whole description, made once per app."""
    if app.openapi_schema is None:
        app.openapi_schema = describe(get_openapi(title=app.title, version=app.version, routes=app.routes))
    return app.openapi_schema


def describe(schema: dict[str, Any]) -> dict[str, Any]:
    """What FastAPI found, with our answers, problems and keys; raises KeyError for a call not in `CALLS`."""
    answered = [kind for call in CALLS.values() for _, kind in call.answers.values() if kind is not None]
    types = list(dict.fromkeys([Problem, *answered]))
    refs, components = msgspec.json.schema_components(types, ref_template=_REF)
    ref_of = dict(zip(types, refs, strict=True))
    for path, method, operation in _operations(schema):
        call = _keyed(CALLS[method, path], method, path)
        operation["responses"] = _responses(call, ref_of)
        if call.key:
            operation["security"] = [{call.key: []}]
        parameters = [one for one in operation.get("parameters", ()) if one["name"] != "authorization"]
        if takes_key(method, path):
            parameters.append(idempotency_key.parameter(path))
        operation["parameters"] = parameters
    schema.setdefault("components", {})["schemas"] = (
        components | request_schema()[1] | body_schemas() | _own_bodies(schema)
    )
    schema["components"]["securitySchemes"] = {
        "buyer": {"type": "http", "scheme": "bearer", "description": "The buyer's token."},
        "operator": {"type": "http", "scheme": "bearer", "description": "An operator key."},
    }
    return schema


def _keyed(call: Call, method: str, path: str) -> Call:
    """What a call may answer too where it takes an Idempotency-Key."""
    if not takes_key(method, path):
        return call
    return call._replace(problems=(*call.problems, 400, 409, 413, 422, 429, 503))


def _operations(schema: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, methods in schema["paths"].items():
        for method, operation in methods.items():
            yield path, method, operation


def _responses(call: Call, ref_of: Mapping[type, dict[str, Any]]) -> dict[str, Any]:
    responses: dict[str, Any] = {}
    for status, (means, kind) in call.answers.items():
        responses[str(status)] = {"description": means}
        if kind is not None:
            responses[str(status)]["content"] = {"application/json": {"schema": ref_of[kind]}}
        if call.located:
            responses[str(status)]["headers"] = _LOCATION
    keyed = (401, 403, 429) if call.key == "operator" else ()
    for status in sorted({*call.problems, *keyed}):
        responses[str(status)] = {
            "description": _WHY[status],
            "content": {PROBLEM_TYPE: {"schema": ref_of[Problem]}},
        }
        if status in _REFUSAL_HEADERS:
            responses[str(status)]["headers"] = _REFUSAL_HEADERS[status]
    return responses


def _own_bodies(schema: dict[str, Any]) -> dict[str, Any]:
    """Bodies that FastAPI reads itself; its own form of a refusal is not ours and goes."""
    found: dict[str, Any] = schema["components"].get("schemas", {})
    return {name: kind for name, kind in found.items() if "ValidationError" not in name}
