"""The pages: one per event, its draw, a list of events, an order's tickets, figures and the console for
operators, and the files they need; where buyers pay by Stripe, also the page that carries Stripe's form.

Promises: nothing inline runs and nothing comes from another host (the content security policy says so to
the browser), but Stripe on the page where it is paid, which is there only with Stripe, and the provider of a
human check on pages of events with a waiting room, where one is set; what a page needs to know is JSON in a
data block. Files are read once and served from memory under a path that carries their fingerprint, so that
browsers keep them for good and a new release is seen at once. Nothing here reads a seat: the page talks to
`/v1` as anyone may.
"""

from __future__ import annotations

import json
import logging
from html import escape
from pathlib import Path
from string import Template
from typing import Annotated
from urllib.parse import quote

from fastapi import Path as PathParameter
from fastapi import Query, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from gateway.pages import console, demo, drawn, line
from gateway.pages.files import FILES, MEDIA_TYPES, STATIC, VERSION
from gateway.pages.headers import SECURITY_HEADERS
from gateway.room import shops, widget
from gateway.room.draws import draws_of, shown
from gateway.routing import together
from gateway.settings import Settings
from store.errors import NotFound, Unavailable

log = logging.getLogger("onsale.gateway")

_HERE = Path(__file__).parent
_WITH_FORM = SECURITY_HEADERS | {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'self'; "
        "frame-ancestors 'none'"
    )
}
"""Of a page without a script."""

_STRIPE = "https://js.stripe.com https://*.js.stripe.com"
_WITH_STRIPE = {
    **SECURITY_HEADERS,
    "Content-Security-Policy": (
        f"default-src 'none'; script-src 'self' {_STRIPE}; frame-src {_STRIPE} https://hooks.stripe.com; "
        "connect-src 'self' https://api.stripe.com; style-src 'self'; img-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "Cross-Origin-Opener-Policy": "same-origin-allow-popups",  # some ways to pay open a window of their own
}


_event_page = Template((_HERE / "event.html").read_text(encoding="utf-8"))
_tickets_page = Template((_HERE / "tickets.html").read_text(encoding="utf-8"))
_pay_page = Template((_HERE / "pay.html").read_text(encoding="utf-8"))
_operator_page = Template((_HERE / "operator.html").read_text(encoding="utf-8"))
_draw_page = Template((_HERE / "draw.html").read_text(encoding="utf-8"))
_index_page = Template((_HERE / "index.html").read_text(encoding="utf-8"))

_WITHOUT_SCRIPTS = (
    '  <noscript><meta http-equiv="refresh" content="0; url=/e/{event}/line{query}"></noscript>\n'
)

_OF_OTHER_PAGES = ("index", "tickets/", "pay/", "operator/", "console/", "vendor/uPlot")

EventInPath = Annotated[str, PathParameter(pattern=r"^[A-Za-z0-9._~-]{1,64}$")]

router = together(demo.router, console.router, line.router)


def _page(template: Template, request: Request, title: str, **facts: object) -> HTMLResponse:
    facts["demo"] = bool(request.app.state.runtime.settings.demo)
    bootstrap = json.dumps(facts).replace("<", "\\u003c")
    modules = "\n".join(
        f'  <link rel="modulepreload" href="{STATIC}/{name}">'
        for name in FILES
        if name.endswith((".js", ".mjs")) and not name.startswith(_OF_OTHER_PAGES)
    )
    plain = _without_scripts(request, facts["event"]) if facts.get("room") else ""
    html = template.substitute(
        title=escape(title), static=STATIC, bootstrap=bootstrap, modules=modules, plain=plain
    )
    return HTMLResponse(html, headers={"Cache-Control": "no-cache", **SECURITY_HEADERS})


def _without_scripts(request: Request, event: object) -> str:
    given = request.query_params.get("return", "")[: shops.ADDRESS_LENGTH_MAX + 1]  # judged over there
    return _WITHOUT_SCRIPTS.format(event=event, query=f"?return={quote(given, safe='')}" if given else "")


@router.get("/", include_in_schema=False)
async def index(request: Request) -> HTMLResponse:
    """Every event there is."""
    return _page(_index_page, request, "On sale")


@router.get("/e/{event}", include_in_schema=False)
async def event_page(
    request: Request, event: EventInPath, back: Annotated[str, Query(alias="return")] = ""
) -> HTMLResponse:
    """The page of one event: map, choice, decision, countdown, orders. Where there is no such event it says
    so itself, and its status is 404. `return`: an address of the shop that sent its buyer to the room."""
    status, room = 200, False
    runtime = request.app.state.runtime
    try:
        room = (await runtime.events.get(event)).room is not None
    except NotFound:
        status = 404
    except Unavailable:
        log.warning("the page of %s is given without knowing whether it exists: an engine is away", event)
    goes = _goes_back(runtime.settings, back) if room and back else None
    human = _human_check(runtime.settings) if room else None
    page = _page(_event_page, request, event, event=event, room=room, back=goes, human=human)
    page.status_code = status
    if human:
        page.headers["Content-Security-Policy"] = widget.policy(human["script"])
    return page


def _human_check(settings: Settings) -> dict[str, str] | None:
    script = settings.room.human_check_script
    return {"script": script, "site_key": settings.room.human_check_site_key} if script else None


def _goes_back(settings: Settings, address: str) -> dict[str, str | bool]:
    found = shops.returning(settings.room, address)
    return {"refused": True} if found is None else {"address": found.address}


@router.get("/e/{event}/pay/{hold}", include_in_schema=False)
async def pay_page(
    request: Request, event: EventInPath, hold: Annotated[str, PathParameter(pattern=r"^[1-9][0-9]{0,18}$")]
) -> Response:
    """Where a hold is paid by Stripe; whoever is paid otherwise has a page of their own, and this is none."""
    runtime = request.app.state.runtime
    settings = runtime.settings.payments
    try:
        name = (await runtime.events.get(event)).row.name
    except NotFound:
        name = ""
    except Unavailable:
        name = event
    if not name or not settings.stripe_page:
        return RedirectResponse(f"/e/{event}", 303)
    returns = f"{settings.public_url}/e/{event}?paid={hold}"
    told = {"event": event, "name": name, "hold": hold, "returns": returns}
    page = _page(_pay_page, request, f"Pay · {name}", **told, stripe=settings.stripe_publishable_key)
    page.headers.update(_WITH_STRIPE)
    return page


@router.get("/e/{event}/draw", include_in_schema=False)
async def draw_page(request: Request, event: EventInPath, place: str = "") -> HTMLResponse:
    """The event's draw, without JavaScript; `place`: also where that one stood."""
    status, name, content = 200, event, drawn.AWAY
    try:
        runtime = await request.app.state.runtime.events.get(event)
        name, draws = runtime.row.name, draws_of(request)
        draw = await draws.now(runtime)
        wanted = drawn.place_in(place)
        stands = None if wanted is None or draw.seed is None else await draws.find(runtime, wanted)
        content = drawn.content(shown(draw, event), place, stands)
    except NotFound as error:
        status, content = 404, drawn.NO_ROOM if error.code == "no_room" else drawn.NO_EVENT
    except Unavailable:
        status = 503
    html = _draw_page.substitute(
        title=f"The draw · {escape(name)}", name=escape(name), static=f"/static/{VERSION}", content=content
    )
    return HTMLResponse(html, status, {"Cache-Control": "no-cache", **_WITH_FORM})


@router.get("/e/{event}/tickets", include_in_schema=False)
async def orders_page(request: Request, event: EventInPath) -> HTMLResponse:
    """What a buyer bought for an event."""
    return _page(_tickets_page, request, "Your orders", event=event, order="")


@router.get("/e/{event}/tickets/{order}", include_in_schema=False)
async def tickets_page(
    request: Request,
    event: EventInPath,
    order: Annotated[str, PathParameter(pattern=r"^(claim|[1-9][0-9]{0,18})$")],
) -> HTMLResponse:
    """A buyer's tickets of an order; `claim`: a ticket that somebody gives."""
    return _page(_tickets_page, request, "Tickets", event=event, order=order)


@router.get("/operator/events/{event}", include_in_schema=False)
async def operator_page(request: Request, event: EventInPath) -> HTMLResponse:
    """What an event's sale has come to, for operators: the page asks for their key."""
    return _page(_operator_page, request, f"{event} · figures", event=event)


@router.get("/static/{version}/{name:path}", include_in_schema=False)
async def static_file(version: str, name: str) -> Response:
    """A file of the pages; kept for good by browsers when the version is this one's."""
    content = FILES.get(name)
    if content is None:
        return Response("There is no such file.", 404, media_type="text/plain")
    kept = "public, max-age=31536000, immutable" if version == VERSION else "no-store"
    media_type = MEDIA_TYPES[Path(name).suffix]
    return Response(
        content,
        media_type=media_type,
        headers={"Cache-Control": kept, "X-Content-Type-Options": "nosniff"},
    )
