"""The waiting room without JavaScript, as HTML. Pure: what is known in, text out.

Everything that goes into the page is escaped here, once, where it goes in. Forms go back to the page's own
address; what changes by itself is seen by the page renewing itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from html import escape
from typing import Any

from msgspec import Struct

from gateway.pages.texts import TEXT_LENGTH_MAX, texts

REFRESH_SECONDS = 12
QUANTITIES = range(1, 9)
FASTER, SLOWER = 1.25, 0.8
"""As in `core/roomline.js`: the measured rate is true within about a fifth."""
REASONS = ("lag", "payments_failing", "full_inside")

Words = Callable[..., str]


class Asked(Struct, frozen=True):
    """What became of the seats that were asked for."""

    stage: str
    """asking, held, paid, gone, or why nothing was given."""
    seats: tuple[str, ...] = ()
    minutes: int = 0
    pay_url: str = ""
    costs: bool = False


class Seen(Struct, frozen=True):
    """What a page shows; documents as buyers' clients get them."""

    event: str
    name: str
    room: dict[str, Any]
    place: dict[str, Any] | None = None
    signed_in: bool = True
    asked: Asked | None = None
    trouble: str = ""
    """Why the last form was refused."""
    shop: str = ""
    """The shop elsewhere that the buyer goes on to, as people read it."""


def words_of(look: dict[str, Any]) -> Words:
    """What says a text by its code, escaped: the organiser's own first."""
    own, catalogue = look.get("texts") or {}, texts("en")

    def words(code: str, **values: Any) -> str:
        given = own.get(code)
        text = given[:TEXT_LENGTH_MAX] if isinstance(given, str) and given else catalogue[code]
        if isinstance(text, dict):
            text = text.get("one", text["other"]) if values.get("count") == 1 else text["other"]
        for name, value in values.items():
            text = text.replace(f"{{{name}}}", f"{value:,}" if isinstance(value, int) else str(value))
        return escape(text)

    return words


def body(seen: Seen) -> str:
    """The page's main part."""
    words = words_of(seen.room["look"])
    parts = []
    if message := seen.room["message"]:
        who = seen.room["look"].get("name") or ""
        title = escape(str(who)) or words("message.title")
        text = f"<b>{title}</b> <span>{escape(message['text'])}</span>"
        parts.append(f'<aside class="notice room-message">{text}</aside>')
    if seen.trouble:
        told = words("join.failed", message=seen.trouble)
        parts.append(f'<p class="notice warn" role="alert">{told}</p>')
    parts.append(f'<section class="card">{_card(seen, words)}</section>')
    parts.append(f'<p class="quiet-text">{words("plain.refresh", seconds=REFRESH_SECONDS)}</p>')
    return "\n".join(parts)


def _card(seen: Seen, words: Words) -> str:
    if seen.asked is not None:
        return _asked(seen, seen.asked, words)
    if not seen.signed_in:
        return f"<p>{words('plain.sign_in')}</p>"
    room, place = seen.room, seen.place
    state = None if place is None else place["state"]
    if state == "admitted" and place is not None:
        if place["begun_at"] is None:
            return _turn(seen, place, words)
        return _onward(seen, place, words) if seen.shop else _choosing(seen, place, words)
    if state == "waiting" and place is not None:
        return _waiting(seen, place, words)
    if room["phase"] in ("draft", "closed"):
        return _titled(words("lobby.title" if room["phase"] == "draft" else "stopped.title"), "")
    title = "lobby" if room["phase"] == "lobby" else "outside"
    if state == "expired" and place is not None:
        title = "missed" if place["begun_at"] is None else "time_over"
    return _titled(words(f"{title}.title"), words(f"{title}.text")) + _form(seen, "join", words("join"))


def _waiting(seen: Seen, place: dict[str, Any], words: Words) -> str:
    room = seen.room
    leave = _form(seen, "leave", words("leave"), quiet=True)
    if room["phase"] == "lobby" or place["position"] is None:
        title = "lobby.title_in" if room["phase"] == "lobby" else "drawing.title"
        text = "lobby.text_in" if room["phase"] == "lobby" else "drawing.text"
        return _titled(words(title), words(text)) + leave
    serving = room["serving_priority" if place["lane"] == "priority" else "serving"]
    ahead = max(0, place["position"] - serving - 1)
    stop = "sold_out" if room["sold_out"] else room["phase"] if room["phase"] in ("paused", "stopped") else ""
    said = words("line.ahead", count=ahead) if ahead else words("line.next")
    number = f'<b class="place-figures">{place["position"]:,}</b>'
    lines = [
        _titled(words(f"{stop or 'line'}.title"), words(f"{stop}.text") if stop else ""),
        f'<p class="line-number">{words("line.number")} {number}</p>',
        f'<p class="large">{said}</p>',
    ]
    if not stop:
        lines.append(f'<p class="large">{_wait(room["rate"], ahead, words)}</p>')
        if room["reason"]:
            reason = room["reason"] if room["reason"] in REASONS else "other"
            lines.append(f'<p class="why">{words(f"reason.{reason}")}</p>')
    if room["seats_left"] is not None and not room["sold_out"]:
        lines.append(f'<p class="quiet-text">{words("line.seats_left", count=room["seats_left"])}</p>')
    return "".join(lines) + leave


def _wait(rate: float | None, ahead: int, words: Words) -> str:
    if not rate or rate <= 0:
        return words("line.wait_unknown")
    low = math.floor(ahead / (FASTER * rate))
    high = max(low + 1, math.ceil(ahead / (SLOWER * rate)))
    return words("line.wait_under") if high == 1 else words("line.wait", low=low, high=high)


def _turn(seen: Seen, place: dict[str, Any], words: Words) -> str:
    minutes = words("minutes", count=round(seen.room["shopping_seconds"] / 60))
    left = _minutes_left(seen, place["begin_by"], words)
    return (
        _titled(words("turn.title"), words(_by_shop(seen, "turn.text"), minutes=minutes, shop=seen.shop))
        + f'<p class="large">{left} {words("turn.left")}</p>'
        + _form(seen, "begin", words(_by_shop(seen, "turn.begin"), shop=seen.shop))
        + _more(seen, place, place["begin_by"], words)
    )


def _by_shop(seen: Seen, code: str) -> str:
    return {"turn.text": "back.turn", "turn.begin": "back.go"}[code] if seen.shop else code


def _onward(seen: Seen, place: dict[str, Any], words: Words) -> str:
    title, told = words("back.title", shop=seen.shop), words("back.inside")
    go = _form(seen, "begin", words("back.go", shop=seen.shop))
    return _titled(title, told) + go + _more(seen, place, place["until"], words)


def _minutes_left(seen: Seen, end: int, words: Words) -> str:
    return words("minutes", count=max(1, round((end - seen.room["at"]) / 60_000)))


def _more(seen: Seen, place: dict[str, Any], end: int, words: Words) -> str:
    """Who needs longer; `end` goes along, so that a form sent twice gives time once."""
    if not place["more_left"]:
        return ""
    minutes = words("minutes", count=max(1, round(place["more_seconds"] / 60)))
    told = f"{words('more.by', minutes=minutes)} {words('more.left', count=place['more_left'])}"
    field = f'<input type="hidden" name="end" value="{end}">'
    return _form(seen, "more", words("more"), field, quiet=True) + f'<p class="quiet-text">{told}</p>'


def _choosing(seen: Seen, place: dict[str, Any], words: Words) -> str:
    choices = "".join(f"<option>{quantity}</option>" for quantity in QUANTITIES)
    field = f'<label>{words("plain.quantity")} <select name="quantity">{choices}</select></label>'
    script = f"<p>{words('plain.script')}</p>"
    left = words("inside.left", time=_minutes_left(seen, place["until"], words))
    return (
        _titled(words("turn.begin"), left)
        + script
        + _form(seen, "hold", words("plain.hold"), field)
        + _more(seen, place, place["until"], words)
    )


def _asked(seen: Seen, asked: Asked, words: Words) -> str:
    if asked.stage == "asking":
        return f"<p>{words('plain.asking')}</p>"
    if asked.stage == "paid":
        return _titled(words("plain.bought"), "") + _form(seen, "again", words("join.line"), quiet=True)
    if asked.stage != "held":
        told = words("plain.nothing", outcome=asked.stage.replace("_", " "))
        return f"<p>{told}</p>" + _form(seen, "again", words("plain.again"))
    until = words("plain.held_until", minutes=words("minutes", count=max(1, asked.minutes)))
    seats = "".join(f"<li><b>{escape(seat)}</b></li>" for seat in asked.seats)
    held = _titled(words("plain.held"), until) + f'<ul class="mine">{seats}</ul>'
    if asked.pay_url:
        pay = f'<a class="button main" href="{escape(asked.pay_url)}">{words("plain.pay")}</a>'
    else:
        pay = _form(seen, "buy", words("plain.pay" if asked.costs else "plain.buy"))
    return held + pay + _form(seen, "release", words("plain.give_back"), quiet=True)


def _titled(title: str, text: str) -> str:
    return f"<h2>{title}</h2>" + (f"<p>{text}</p>" if text else "")


def _form(seen: Seen, act: str, label: str, fields: str = "", *, quiet: bool = False) -> str:
    kind = "quiet" if quiet else "main"
    return (
        f'<form method="post" action="/e/{escape(seen.event)}/line/{act}" class="join">{fields}'
        f'<button class="button {kind}">{label}</button></form>'
    )
