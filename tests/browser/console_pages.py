"""A page with one of the console's components and nothing around it, on the real stack, with its key.

What the console's shell gives a component is there as plain as can be: an `api` that sends the key and throws
what was refused, and a `go` that remembers where it was told to go (`window.gone`).
"""

from __future__ import annotations

from pathlib import Path
from string import Template

from playwright.sync_api import Page, Route

from gateway.pages.files import STATIC
from onsale.processes import Stack

PATH = "/console-alone"
_PAGE = Template(Path(__file__).with_name("console_alone.html").read_text(encoding="utf-8"))


def show(page: Page, stack: Stack, component: str, file: str, event: str = "") -> None:
    """Opens it."""
    told = _PAGE.substitute(
        static=STATIC, component=component, file=file, key=stack.operator_key, event=event
    )

    def fulfil(route: Route) -> None:
        route.fulfill(body=told, content_type="text/html; charset=utf-8")

    page.route(f"**{PATH}", fulfil)
    page.goto(stack.base_url + PATH)
