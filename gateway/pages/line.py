"""The waiting room without JavaScript: a page that renews itself, and plain forms.

Who its buyer is stands in a cookie that scripts and other sites cannot use (HttpOnly, SameSite=Lax, of this
event's pages only): in a demo a guest's token, else the one the shop's page sent here by a form. A form is
taken from this page alone; only the shop may send a buyer in. Who cannot prove that their computer worked
waits instead, by a ticket in another such cookie (`gateway.room.patience`).
"""

from __future__ import annotations

from html import escape
from pathlib import Path
from string import Template
from typing import Annotated, Final
from urllib.parse import parse_qsl, quote

from fastapi import APIRouter, Query, Request
from fastapi import Path as PathParameter
from starlette.responses import HTMLResponse, RedirectResponse, Response

from gateway.buyers.tokens import DEMO_SECONDS
from gateway.pages import plain, wishes
from gateway.pages.files import STATIC
from gateway.pages.seen import Seen
from gateway.pages.texts import texts
from gateway.pages.visit import ASKED, BACK, TOKEN, WAIT, Visit
from gateway.problems import Forbidden, Unauthorized
from gateway.room import shops
from gateway.routing import Slug
from store.errors import BadRequest, NotFound, OnsaleError

ACTS = "^(come|join|wait|begin|more|leave|wish|withdraw|hold|buy|release|again)$"
FIELDS_MAX: Final = 20
TYPED: Final = {
    "join": ("code", "email"),
    "wish": ("quantity", "where", "category", "accessible", *wishes.Fallback),
    "hold": ("quantity", "where", "category", "accessible", *wishes.Fallback),
}
"""What is typed into forms, and is there again where they are refused."""
TYPED_LENGTH_MAX: Final = 300
HEADERS = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff", "Referrer-Policy": "same-origin"}
HEADERS["Content-Security-Policy"] = (
    "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'self'; "
    "frame-ancestors 'none'"
)

_page = Template((Path(__file__).parent / "plain.html").read_text(encoding="utf-8"))

router = APIRouter(include_in_schema=False)


async def _visit(request: Request, slug: str) -> Visit:
    visit = Visit(request, await request.app.state.runtime.events.get(slug))
    await visit.recognise()
    return visit


def _render(visit: Visit, seen: Seen) -> HTMLResponse:
    told = _page.substitute(
        lang="en", title=plain.title(seen), name=escape(seen.name), static=STATIC, body=plain.body(seen)
    )
    answer = HTMLResponse(told, headers=HEADERS)
    if (seconds := plain.refreshes(seen)) is not None:
        answer.headers["Refresh"] = f"{seconds}; url=/e/{seen.event}/line"
    if visit.back is not None:  # where the form to begin leads on to
        policy = HEADERS["Content-Security-Policy"]
        wider = policy.replace("form-action 'self'", f"form-action 'self' {visit.back.shop}")
        answer.headers["Content-Security-Policy"] = wider
    return answer


@router.get("/e/{event}/line")
async def line_page(
    request: Request,
    event: Slug,
    form: Annotated[str, Query(max_length=TYPED_LENGTH_MAX)] = "",
    back: Annotated[str, Query(alias="return")] = "",
) -> Response:
    """How the buyer stands; renews itself, but for pages with a `form`. `return`: an address of the shop that
    sent them here."""
    try:
        visit = await _visit(request, event)
    except NotFound:
        return RedirectResponse(f"/e/{event}", 303)
    form = form if form in plain.FORMS else ""
    known = shops.returning(visit.runtime.settings.room, back) if back else None
    refused = str(texts("en")["back.refused"]) if back and known is None else ""
    visit.back = known or visit.back
    shown = _render(visit, await visit.seen(form, trouble=refused))
    if known is not None:
        _remember(request, shown, event, BACK, quote(known.address, safe=""))
    return shown


@router.post("/e/{event}/line/{act}")
async def line_form(
    request: Request, event: Slug, act: Annotated[str, PathParameter(pattern=ACTS)]
) -> Response:
    """One form; then the page again."""
    _must_be_from_here(request, act)
    form = await _form_of(request)
    visit = await _visit(request, event)
    still = "?still=1" if "still" in request.query_params else ""
    shown: Response | None = None
    shown_form = form.get("form", "") if form.get("form") in plain.FORMS else ""
    typed = {name: form[name][:TYPED_LENGTH_MAX] for name in TYPED.get(act, ()) if name in form}
    token = ""
    try:
        token = await _token_for(visit, act, form)
        if act != "come" and not await visit.act(act, form):
            shown = _render(visit, await visit.seen(shown_form, typed))
    except TimeoutError:
        pass  # nobody knows yet; the page shows it as soon as somebody does
    except OnsaleError as error:
        shown = _render(visit, await visit.seen(shown_form, typed, str(error)))
    shown = shown or RedirectResponse(visit.onward or f"/e/{event}/line{still}", 303, HEADERS)
    if token:
        _remember(request, shown, event, TOKEN, token)
    for name, value in ((ASKED, visit.asked), (WAIT, visit.ticket)):
        if value != request.cookies.get(name, ""):
            _remember(request, shown, event, name, value)
    return shown


async def _form_of(request: Request) -> dict[str, str]:
    try:
        return dict(parse_qsl((await request.body()).decode("ascii", "replace"), max_num_fields=FIELDS_MAX))
    except ValueError:
        raise BadRequest("bad_form", "Use the forms of this event's own page.") from None


async def _token_for(visit: Visit, act: str, form: dict[str, str]) -> str:
    """A token to remember, of who comes in; raises `Unauthorized` for who does not say who they are."""
    if act == "come":
        visit.buyer = (await visit.runtime.tokens.verify(form.get("token", ""))).id
        return form["token"]
    if not visit.buyer and visit.runtime.settings.demo:
        token, visit.buyer = visit.runtime.tokens.demo_token()
        return token
    if not visit.buyer:
        raise Unauthorized("token_required", "Come in from the shop's page, which says who you are.")
    return ""


def _must_be_from_here(request: Request, act: str) -> None:
    """Raises `Forbidden` (origin_refused) for a form of another site."""
    origin, site = request.headers.get("origin"), request.headers.get("sec-fetch-site", "same-origin")
    allowed = request.app.state.runtime.origin_allowed(origin, request.headers.get("host", ""))
    same = site in ("same-origin", "none") and (origin is None or _is_own(origin, request))
    if not (allowed if act == "come" else same):
        raise Forbidden("origin_refused", "Use the forms of this event's own page.")


def _is_own(origin: str, request: Request) -> bool:
    return origin.partition("://")[2] == request.headers.get("host", "") != ""


def _remember(request: Request, answer: Response, event: str, name: str, value: str) -> None:
    """Keep it for this event's pages, or forget it (empty)."""
    answer.set_cookie(
        name,
        value,
        max_age=DEMO_SECONDS if value else 0,
        path=f"/e/{event}",
        secure=request.url.scheme == "https",
        httponly=True,
        samesite="lax",
    )
