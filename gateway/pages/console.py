"""The operators' console: one page for `/console` and everything below, which finds its way by the address.

The page is the same for everybody and knows nothing: it asks for an operator key, and all it shows comes
from `/v1/operator` over HTTP and a websocket, where keys and roles are judged.
"""

from __future__ import annotations

from pathlib import Path
from string import Template

from fastapi import APIRouter
from starlette.responses import HTMLResponse

from gateway.pages.files import STATIC
from gateway.pages.headers import SECURITY_HEADERS

_PAGE = Template((Path(__file__).parent / "console.html").read_text(encoding="utf-8")).substitute(
    static=STATIC
)
_HEADERS = {"Cache-Control": "no-cache", **SECURITY_HEADERS}

router = APIRouter()


@router.get("/console", include_in_schema=False)
@router.get("/console/{below:path}", include_in_schema=False)
async def console(below: str = "") -> HTMLResponse:
    """The page; what `below` names is looked up by the page, which says so where there is nothing."""
    return HTMLResponse(_PAGE, headers=_HEADERS)
