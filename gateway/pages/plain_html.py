"""What plain pages are made of: texts that are escaped where they go in, forms and their fields. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from html import escape
from typing import Any, Final

from msgspec import Struct

from gateway.pages.texts import TEXT_LENGTH_MAX, texts

MINUTE_MS: Final = 60_000
HOURS_FROM_MINUTES: Final = 120
DAYS_FROM_HOURS: Final = 48


class Words:
    """Says a text by its code: the organiser's own, else the catalogue's."""

    def __init__(self, look: Mapping[str, Any]) -> None:
        self._own = look.get("texts") or {}
        self._catalogue = texts("en")

    def __call__(self, code: str, **values: Any) -> str:
        """Escaped, to be put into a page."""
        return escape(self.bare(code, **values))

    def bare(self, code: str, **values: Any) -> str:
        """As it is, to be put into another text."""
        given = self._own.get(code)
        text = given[:TEXT_LENGTH_MAX] if isinstance(given, str) and given else self._catalogue[code]
        if isinstance(text, dict):
            text = text.get("one", text["other"]) if values.get("count") == 1 else text["other"]
        for name, value in values.items():
            text = text.replace(f"{{{name}}}", f"{value:,}" if isinstance(value, int) else str(value))
        return text

    def escaped(self, text: str) -> str:
        return escape(text)

    def time(self, left_ms: int) -> str:
        """A time that is left, in whole minutes, hours or days and never none; not escaped."""
        minutes = max(1, round(left_ms / MINUTE_MS))
        if minutes < HOURS_FROM_MINUTES:
            return self.bare("minutes", count=minutes)
        hours = round(minutes / 60)
        if hours < DAYS_FROM_HOURS:
            return self.bare("plain.hours", count=hours)
        return self.bare("plain.days", count=round(hours / 24))

    def date(self, moment_ms: int) -> str:
        """By UTC, and says so: nobody knows where who reads it is; not escaped."""
        return f"{datetime.fromtimestamp(moment_ms / 1_000, UTC):%d %B %Y, %H:%M} UTC"


class Page(Struct, frozen=True):
    """Where a page's forms go, and what was typed into one that was refused."""

    event: str
    still: bool = False
    """It does not renew itself: its buyer said so."""
    typed: Mapping[str, str] = {}

    def address(self, form: str = "", *, still: bool | None = None) -> str:
        """This page, or one to fill in."""
        asked = [f"form={form}"] if form else []
        if self.still if still is None else still:
            asked.append("still=1")
        return escape(f"/e/{self.event}/line" + ("?" + "&".join(asked) if asked else ""))

    def link(self, label: str, form: str = "", kind: str = "link", *, still: bool | None = None) -> str:
        return f'<a class="{kind}" href="{self.address(form, still=still)}">{label}</a>'

    def form(self, act: str, label: str, fields: str = "", kind: str = "button main", of: str = "") -> str:
        """`of`: the page that is shown again where this is refused."""
        action = escape(f"/e/{self.event}/line/{act}" + ("?still=1" if self.still else ""))
        hidden = f'<input type="hidden" name="form" value="{of}">' if of else ""
        return (
            f'<form method="post" action="{action}" class="join">{hidden}{fields}'
            f'<button class="{kind}">{label}</button></form>'
        )

    def field(self, name: str, label: str, told: str, **attributes: str | int) -> str:
        """A line to type into, with what was typed."""
        more = "".join(f' {key}="{escape(str(value))}"' for key, value in attributes.items())
        return (
            f'<div class="where"><label for="line-{name}">{label}</label>'
            f'<input id="line-{name}" name="{name}" value="{escape(self.typed.get(name, ""))}" '
            f'aria-describedby="line-{name}-told"{more}><small id="line-{name}-told">{told}</small></div>'
        )

    def select(self, name: str, label: str, options: Iterable[tuple[str, str]], chosen: str) -> str:
        """One of (value, text)."""
        lines = "".join(
            f'<option value="{escape(value)}"{" selected" if value == chosen else ""}>{escape(text)}</option>'
            for value, text in options
        )
        return (
            f'<div class="choose"><label for="line-{name}">{label}</label>'
            f'<select id="line-{name}" name="{name}">{lines}</select></div>'
        )


def titled(title: str, text: str = "", *, done: bool = False) -> str:
    tick = '<i class="tick" aria-hidden="true"></i>' if done else ""
    return f"<h2>{tick}{title}</h2>" + (f"<p>{text}</p>" if text else "")


def card(content: str, kind: str = "") -> str:
    return f'<section class="card{f" {kind}" if kind else ""}">{content}</section>'


def quiet(text: str) -> str:
    return f'<p class="quiet-text">{text}</p>'


def more_time(place: Mapping[str, Any], end: int, page: Page, words: Words) -> str:
    """For who needs longer; `end` goes along, so that a form sent twice gives time once."""
    if not place["more_left"]:
        return ""
    minutes = words.bare("minutes", count=max(1, round(place["more_seconds"] / 60)))
    told = f"{words('more.by', minutes=minutes)} {words('more.left', count=place['more_left'])}"
    field = f'<input type="hidden" name="end" value="{end}">'
    return page.form("more", words("more"), field, kind="button quiet") + quiet(told)
