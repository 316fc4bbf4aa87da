"""HTTP that is not hot, by FastAPI, and how problems are answered.

`POST …/requests` is answered below FastAPI (see `gateway.app`); it is declared here so that the
published schema is whole (see `gateway.openapi`).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated, Any

from fastapi import APIRouter, FastAPI, Header, Path, Query, Request
from fastapi.exceptions import RequestValidationError
from msgspec import UNSET
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.routing import Match

from gateway import health, operators, pages
from gateway.bodies import BoundedBodies
from gateway.buyers import owning
from gateway.buyers.decode import Confirm, Extend, ExtendBody, Release, ReleaseBody, body_from_json
from gateway.buyers.posting import authenticate
from gateway.buyers.recall import DATABASE_AWAY
from gateway.buyers.tokens import Buyer
from gateway.cross_origin import CrossOrigin
from gateway.idempotency import Idempotent, taken_in
from gateway.openapi import openapi
from gateway.payments import routes as payments
from gateway.problems import PROBLEM_TYPE, FarTooLarge, body_of, problem_body, retry_after_of, status_of
from gateway.room import draws, protection
from gateway.room import routes as room
from gateway.routing import Authorization, HoldPath, Slug, json_response, together
from gateway.runtime import Runtime, running
from gateway.settings import Settings
from gateway.shown_event import public
from gateway.tickets import routes as tickets
from store import lookups
from store.errors import BadRequest, NotFound, OnsaleError, Unavailable
from store.event_prices import ShownPrices
from store.prices import of_categories
from store.words import EventState

log = logging.getLogger("onsale.gateway")

WAIT_MS_MAX = 20_000
POLL_SECONDS = 0.5
"""How often the ledger is asked for a request another gateway waits for."""
METHODS = ("DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT")

router = APIRouter(prefix="/v1", tags=["buyers"])

RequestIdPath = Annotated[str, Path(pattern=r"^[A-Za-z0-9._~-]{1,64}$")]


def _runtime(request: Request) -> Runtime:
    runtime: Runtime = request.app.state.runtime
    return runtime


@router.get("/events")
async def list_events(request: Request) -> Response:
    """Events that are not drafts, newest first."""
    try:
        async with _runtime(request).pool.connection() as connection:
            rows = await lookups.events(connection)
    except DATABASE_AWAY as error:
        raise Unavailable("The database is away. Try again shortly.") from error
    return json_response({"events": [public(row) for row in rows if row.state is not EventState.DRAFT]})


@router.get("/events/{event}")
async def show_event(request: Request, event: Slug) -> Response:
    """An event and its state."""
    return json_response(public((await _runtime(request).events.get(event)).row))


@router.get("/events/{event}/plan")
async def show_plan(
    request: Request, event: Slug, if_none_match: Annotated[str | None, Header()] = None
) -> Response:
    """The seating plan. Seats may come to be of other categories, while it is a draft and while it sells."""
    runtime = await _runtime(request).events.get(event)
    headers = {"ETag": runtime.plan_etag, "Cache-Control": "public, no-cache"}
    if if_none_match == runtime.plan_etag:
        return Response(status_code=304, headers=headers)
    return Response(runtime.plan_text, headers=headers, media_type="application/json")


@router.get("/events/{event}/seats")
async def show_seats(request: Request, event: Slug) -> Response:
    """The seat map now: one letter a seat in plan order, places free of each area."""
    body = (await _runtime(request).events.get(event)).seats_json()
    return Response(body, headers={"Cache-Control": "no-store"}, media_type="application/json")


@router.get("/events/{event}/prices")
async def show_prices(request: Request, event: Slug) -> Response:
    """What a seat or place of each category costs: its price, fee, tax, and what is paid in all."""
    runtime = await _runtime(request).events.get(event)
    plan, terms = runtime.plan, runtime.row.price_terms
    categories = of_categories(plan.categories, terms)
    prices = ShownPrices(plan.currency, terms, categories, runtime.plan_moves)
    return json_response(prices, headers={"Cache-Control": "no-store"})


@router.get("/events/{event}/figures")
async def show_figures(request: Request, event: Slug) -> Response:
    """How much is sold and what was just booked, with its age. It decides nothing."""
    figures = await (await _runtime(request).events.get(event)).figures.now()
    return json_response(figures, headers={"Cache-Control": "no-store"})


class Watched:
    """The waiter of one GET: the decision's frame."""

    prompt = False

    def __init__(self) -> None:
        self.frame: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self.frame.add_done_callback(_look_at)

    def decided(self, frame: bytes) -> None:
        if not self.frame.done():
            self.frame.set_result(frame)

    def accepted(self, request_id: str, arrival: str) -> None:
        return

    def delayed(self, request_id: str) -> None:
        return

    def refused(self, request_id: str, error: OnsaleError) -> None:
        if not self.frame.done():
            self.frame.set_exception(error)


def _look_at(frame: asyncio.Future[bytes]) -> None:
    """Whoever gave up waiting does not look at a refusal, and asyncio would log that nobody did."""
    if not frame.cancelled():
        frame.exception()


@router.get("/events/{event}/requests/{request_id}")
async def show_request(
    request: Request,
    event: Slug,
    request_id: RequestIdPath,
    authorization: Authorization = "",
    wait_ms: Annotated[int, Query(ge=0, le=WAIT_MS_MAX)] = 0,
) -> Response:
    """The decision (200), or that there is none yet (202); waits for it up to `wait_ms`."""
    buyer = await authenticate(_runtime(request), authorization)
    runtime = await _runtime(request).events.get(event)
    loop = asyncio.get_running_loop()
    until = loop.time() + wait_ms / 1000
    while True:
        left = until - loop.time()
        pending = runtime.intake.find(buyer.id, request_id)
        if pending is not None:
            watched = Watched()
            runtime.intake.attach(pending, watched)
            try:
                done, _ = await asyncio.wait([watched.frame], timeout=max(left, 0))
            finally:
                runtime.intake.detach(pending, watched)
            if not done:
                body = {"id": request_id, "arrival": pending.arrival or None, "state": "undecided"}
                return json_response(body, 202, {"Retry-After": "1"})
            return Response(watched.frame.result(), media_type="application/json")
        decided = await runtime.recall.find(buyer.id, request_id)
        if decided is not None:
            return Response(decided.frame, media_type="application/json")
        if left <= 0:
            raise NotFound("unknown_request", "Nobody knows this key yet. Send the request again.")
        await asyncio.sleep(min(POLL_SECONDS, left))


async def _change_hold(request: Request, event: str, wish: owning.Change, authorization: str) -> Response:
    runtime = _runtime(request)
    buyer: Buyer = await authenticate(runtime, authorization)
    return json_response(await owning.change(runtime, await runtime.events.get(event), wish, buyer.id))


def _takes(body: type, *, required: bool) -> dict[str, Any]:
    schema = {"$ref": f"#/components/schemas/{body.__name__}"}
    return {"requestBody": {"required": required, "content": {"application/json": {"schema": schema}}}}


@router.post("/events/{event}/holds/{hold}/release", openapi_extra=_takes(ReleaseBody, required=False))
async def release_hold(
    request: Request, event: Slug, hold: HoldPath, authorization: Authorization = ""
) -> Response:
    """Give a hold back; the same answer however often it is asked. With a body, only what it names."""
    body = body_from_json(await request.body() or b"{}", ReleaseBody)
    if body.areas is not UNSET and body.quantity is UNSET and taken_in(request) is not None:
        raise BadRequest(
            "quantity_required", "Say `quantity` too, so that places are not given back twice under a key."
        )
    wish = Release(hold, body.seats, body.areas, body.quantity)
    return await _change_hold(request, event, wish, authorization)


@router.post("/events/{event}/holds/{hold}/extend", openapi_extra=_takes(ExtendBody, required=True))
async def extend_hold(
    request: Request, event: Slug, hold: HoldPath, authorization: Authorization = ""
) -> Response:
    """Let a hold run on, if it still ends at `expires_at`; one that ends later is answered as it is."""
    body = body_from_json(await request.body(), ExtendBody)
    return await _change_hold(request, event, Extend(hold, body.expires_at, body.accessible), authorization)


@router.post("/events/{event}/holds/{hold}/confirm")
async def confirm_hold(
    request: Request, event: Slug, hold: HoldPath, authorization: Authorization = ""
) -> Response:
    """Buy a hold; the same answer however often it is asked. 409 `hold_expired` when it ran out."""
    return await _change_hold(request, event, Confirm(hold), authorization)


@router.get("/events/{event}/waiting")
async def show_waiting(request: Request, event: Slug, authorization: Authorization = "") -> Response:
    """What of the buyer's is on the waiting list, at which place, and what was offered from it."""
    runtime = _runtime(request)
    buyer = await authenticate(runtime, authorization)
    found = await (await runtime.events.get(event)).waiters.find(buyer.id)
    return json_response(found, headers={"Cache-Control": "no-store"})


@router.post("/events/{event}/waiting/{request_id}/leave")
async def leave_waiting_list(
    request: Request, event: Slug, request_id: RequestIdPath, authorization: Authorization = ""
) -> Response:
    """Take a request off the waiting list; the same answer however often it is asked."""
    runtime = _runtime(request)
    buyer = await authenticate(runtime, authorization)
    await owning.leave(runtime, await runtime.events.get(event), request_id, buyer.id)
    return json_response({"id": request_id, "state": "left"})


@router.post("/demo/token")
async def demo_token(request: Request) -> Response:
    """A token for an anonymous buyer, in a demo."""
    runtime = _runtime(request)
    if not runtime.settings.demo:
        raise NotFound("not_a_demo", "This server is not a demo. Get a token from the organiser.")
    token, buyer = runtime.tokens.demo_token()
    return json_response({"token": token, "buyer": buyer}, headers={"Cache-Control": "no-store"})


@router.post(
    "/events/{event}/requests",
    status_code=202,
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Want"}}},
        }
    },
)
async def post_request(
    event: Slug,
    idempotency_key: Annotated[str, Header(pattern=r'^(?:[A-Za-z0-9._~-]{1,64}|"[A-Za-z0-9._~-]{1,64}")$')],
    authorization: Authorization,
    prefer: Annotated[str, Header(description="`wait=10`: answer with the decision, if within 10 s")] = "",
) -> Response:
    """Ask for seats. Decided exactly once; repeat with the same key for the same answer."""
    raise AssertionError("gateway.app answers this route before FastAPI sees it")


def _problem(error: OnsaleError) -> Response:
    headers = {}
    if (seconds := retry_after_of(error)) is not None:
        headers["Retry-After"] = str(seconds)
    status = status_of(error)
    if status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    if isinstance(error, FarTooLarge):
        headers["Connection"] = "close"
    return Response(body_of(error), status, headers, media_type=PROBLEM_TYPE)


async def _on_error(_: Request, error: Exception) -> Response:
    assert isinstance(error, OnsaleError), "registered for nothing else"
    return _problem(error)


_CODES = {404: "not_found", 405: "method_not_allowed", 413: "body_too_large"}


async def _on_http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException), "registered for nothing else"
    headers = dict(error.headers or {})
    if error.status_code == 405:
        headers["Allow"] = ", ".join(_methods_of(request))
    code = _CODES.get(error.status_code, "http_error")
    body = problem_body(error.status_code, code, str(error.detail))
    return Response(body, error.status_code, headers, media_type=PROBLEM_TYPE)


def _methods_of(request: Request) -> list[str]:
    """What a path can be asked with: by all of its routes, where Starlette names the first one's methods."""
    return [
        method
        for method in METHODS
        if any(
            route.matches({**request.scope, "method": method})[0] is Match.FULL
            for route in request.app.routes
        )
    ]


async def _on_validation(_: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError), "registered for nothing else"
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"])
    return Response(
        problem_body(400, "bad_request", f"{where}: {first['msg']}"), 400, media_type=PROBLEM_TYPE
    )


def _all_routes() -> APIRouter:
    parts = (health, operators, payments, tickets, room, draws, protection, pages)
    return together(router, *(part.router for part in parts))


def create_api(settings: Settings) -> FastAPI:
    """The FastAPI app; its lifespan makes `app.state.runtime`."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with running(settings) as runtime, pages.demo.lifespan(app):
            app.state.runtime = runtime
            yield

    app = FastAPI(title="onsale", version="1", lifespan=lifespan, docs_url=None, redoc_url=None)
    app.add_middleware(BoundedBodies)
    app.add_middleware(Idempotent, refused=_problem)
    app.add_middleware(CrossOrigin, origins=settings.origins)
    app.add_exception_handler(OnsaleError, _on_error)
    app.add_exception_handler(HTTPException, _on_http)
    app.add_exception_handler(RequestValidationError, _on_validation)
    app.router.routes.extend(_all_routes().routes)
    app.openapi = lambda: openapi(app)  # type: ignore[method-assign]  # FastAPI's own way to extend it
    return app
