"""What axe-core finds wrong with a page: rules of WCAG 2.2 up to AA, and its own good practice."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from playwright.sync_api import Page

_SOURCE = (Path(__file__).parent / "vendor" / "axe.min.js").read_text(encoding="utf-8")
_RUN = """async () => {
  const found = await axe.run(document, { resultTypes: ["violations"] });
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
