"""What axe-core finds wrong with a page: rules of WCAG 2.2 up to AA, and its own good practice."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from playwright.sync_api import Page

_SOURCE = (Path(__file__).parent / "vendor" / "axe.min.js").read_text(encoding="utf-8")
WIDTHS = (360, 768, 1280)
# Without preloading styles: that writes inline ones where there is a shadow root, which the pages forbid, and
# is for an experimental rule only.
_RUN = """async () => {
  const found = await axe.run(document, { resultTypes: ["violations"], preload: false });
  const told = ({ html, failureSummary }) => `${html.slice(0, 160)}: ${failureSummary}`;
  return found.violations.map(({ id, help, nodes }) => [id, help, nodes.map(told)]);
}"""


def violations(page: Page) -> list[Any]:
    """Of the page as it is now, in light and in dark; empty for a page that is good."""
    if not page.evaluate("typeof axe === 'object'"):
        page.evaluate(_SOURCE)
    found: list[Any] = []
    schemes: tuple[Literal["light", "dark"], ...] = ("light", "dark")
    for scheme in schemes:
        page.emulate_media(color_scheme=scheme)
        found += [[scheme, *one] for one in page.evaluate(_RUN)]
    page.emulate_media(color_scheme=None)
    return found


def good_for_everybody(page: Page, name: str) -> None:
    """As it is now: no violation, and nothing cut off sideways from a phone to a desk."""
    before = page.viewport_size
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 740})
        assert page.evaluate("[innerWidth, document.documentElement.scrollWidth]") == [width, width], name
    assert before is not None, "a page of these tests has a size"
    page.set_viewport_size(before)
    found = violations(page)
    assert found == [], f"{name}: {found}"
