"""The waiting room without JavaScript, as HTML. Pure: what is known in, text out.

Everything that goes into the page is escaped where it goes in. Forms go back to the page's own address; what
changes by itself is seen by the page renewing itself. A page that has something to fill in does not renew
itself, and its buyer can stop any other from doing so: nothing that is typed or read is taken away.
"""

from __future__ import annotations

import math
from html import escape
from typing import Any

from gateway.pages import plain_join, plain_wish
from gateway.pages.plain_html import HOURS_FROM_MINUTES, Page, Words, card, more_time, quiet, titled
from gateway.pages.seen import Asked, Seen

REFRESH_SECONDS = 12
ASKING_SECONDS = 2
"""While an answer is under way."""
FASTER, SLOWER = 1.25, 0.8
"""As in `core/roomline.js`: the measured rate is true within about a fifth."""
REASONS = ("lag", "payments_failing", "full_inside")
FORMS = ("code", "mail", "wish", "leave")


def refreshes(seen: Seen) -> int | None:
    """After so many seconds the page renews itself; None: it does not."""
    if seen.still or has_fields(seen):
        return None
    if seen.is_waiting_to_join:
        return min(REFRESH_SECONDS, 1 + (seen.wait_left or 0))
    return ASKING_SECONDS if seen.asked is not None and seen.asked.stage == "asking" else REFRESH_SECONDS


def has_fields(seen: Seen) -> bool:
    """Whether there is something to fill in."""
    if seen.form:
        return True
    if seen.asked is not None or not seen.signed_in:
        return False
    if seen.state == "admitted":
        return seen.place is not None and seen.place["begun_at"] is not None and not seen.shop
    if seen.state == "waiting" or seen.human_check or seen.room["phase"] in ("draft", "closed", "stopped"):
        return False
    return not seen.room["proof"] or seen.wait_left == 0 or bool(seen.typed)


def title(seen: Seen) -> str:
    """The tab's: whoever looks at another one sees there that it is their turn."""
    name = escape(seen.name)
    called = seen.state == "admitted" and seen.place is not None and seen.place["begun_at"] is None
    return f"{Words(seen.room['look'])('turn.title_badge')} {name}" if called and not seen.asked else name


def body(seen: Seen) -> str:
    """The page's main part."""
    words = Words(seen.room["look"])
    page = Page(seen.event, seen.still, seen.typed)
    parts = []
    if message := seen.room["message"]:
        who = seen.room["look"].get("name") or ""
        title = escape(str(who)) or words("message.title")
        text = f"<b>{title}</b> <span>{escape(message['text'])}</span>"
        parts.append(f'<aside class="notice room-message">{text}</aside>')
    if seen.trouble:
        told = words("join.failed", message=seen.trouble)
        parts.append(f'<p class="notice warn" role="alert">{told}</p>')
    if seen.answer is not None:
        head = words("plain.ballot_over" if seen.answer.stage in plain_wish.OVER else "plain.ballot_nothing")
        told = f"<b>{head}</b> <span>{plain_wish.nothing(seen.answer, words)}</span>"
        parts.append(f'<div class="notice warn" role="status">{told}</div>')
    parts += _cards(seen, page, words)
    if seen.form != "leave":  # which has its own way back
        parts.append(_renewing(seen, page, words))
    return "\n".join(parts)


def _renewing(seen: Seen, page: Page, words: Words) -> str:
    seconds = refreshes(seen)
    if seconds is not None:
        stop = page.link(words("plain.stop"), still=True)
        return f'<p class="quiet-text renewing">{words("plain.refresh", seconds=seconds)} {stop}</p>'
    back = page.link(words("plain.back" if seen.form else "plain.renew"))
    again = "" if seen.form or not seen.still else page.link(words("plain.start"), still=False)
    why = words("plain.still" if seen.still and not has_fields(seen) else "plain.filling")
    return f'<p class="quiet-text renewing">{why} {back} {again}</p>'


def _cards(seen: Seen, page: Page, words: Words) -> list[str]:
    if not seen.signed_in:
        return [card(f"<p>{words('plain.sign_in')}</p>")]
    if seen.form == "leave" and seen.state in ("waiting", "admitted"):
        return [card(plain_join.leave_form(page, words))]
    if seen.state == "waiting":
        if seen.form == "code":
            return [card(plain_join.code_form(page, words))]
        if seen.form == "mail":
            return [card(plain_join.mail_form(page, words))]
        if seen.form == "wish" and seen.house is not None:
            return [card(plain_wish.wish_form(seen, page, words))]
    cards = [card(_card(seen, page, words), "turn" if _is_called(seen) else "")]
    if seen.asked is None and seen.state == "waiting":
        if seen.room["ballot"] == "filing":
            cards.append(card(plain_wish.wish_filed(seen, page, words)))
        cards.append(_others(seen, page, words))
    elif seen.asked is None and _is_called(seen):
        cards.append(card(page.link(words("leave"), "leave"), "quieter"))
    return cards


def _is_called(seen: Seen) -> bool:
    return seen.state == "admitted" and seen.place is not None and seen.place["begun_at"] is None


def _card(seen: Seen, page: Page, words: Words) -> str:
    if seen.asked is not None:
        return _asked(seen.asked, page, words)
    place = seen.place
    if seen.state == "admitted" and place is not None:
        if _is_called(seen):
            return _turn(seen, place, page, words)
        return _onward(seen, place, page, words) if seen.shop else plain_wish.choosing(seen, page, words)
    if seen.state == "waiting" and place is not None:
        return _waiting(seen, place, words)
    return plain_join.outside(seen, page, words)


def _others(seen: Seen, page: Page, words: Words) -> str:
    """What else can be done with a place."""
    assert seen.place is not None, "only who has a place is shown this"
    links = [page.link(words("plain.mail_title"), "mail")]
    if seen.place["lane"] != "priority":
        links.append(page.link(words("join.code"), "code"))
    if seen.room["policy"] == "draw":
        to = f"/e/{escape(seen.event)}/draw?place={escape(seen.place['place'])}"
        links.append(f'<a class="link" href="{to}">{words("lobby.proof_link")}</a>')
    links.append(page.link(words("leave"), "leave"))
    return card("".join(links), "quieter")


def _waiting(seen: Seen, place: dict[str, Any], words: Words) -> str:
    room = seen.room
    lane = quiet(words("line.lane")) if place["lane"] == "priority" else ""
    if room["phase"] == "lobby":
        text = words("lobby.text_fifo_in" if room["policy"] == "fifo" else "lobby.text_in")
        stands = place["position"]
        number = "" if stands is None else f'<p class="large">{words("lobby.position", position=stands)}</p>'
        joined = quiet(words("lobby.joined", count=room["joined"]))
        begins = plain_join.begins(seen, words)
        return titled(words("lobby.title_in"), done=True) + begins + number + f"<p>{text}</p>" + lane + joined
    if room["phase"] == "ballot":
        return titled(words("deciding.title"), words("deciding.text")) + quiet(words("line.keep"))
    if place["position"] is None:
        return titled(words("drawing.title"), words("drawing.text")) + quiet(words("line.keep"))
    serving = room["serving_priority" if place["lane"] == "priority" else "serving"]
    ahead = max(0, place["position"] - serving - 1)
    stop = "sold_out" if room["sold_out"] else room["phase"] if room["phase"] in ("paused", "stopped") else ""
    said = words("line.ahead", count=ahead) if ahead else words("line.next")
    number = f'<b class="place-figures">{place["position"]:,}</b>'
    lines = [
        titled(words(f"{stop or 'line'}.title"), words(f"{stop}.text") if stop else ""),
        f'<p class="line-number"><span>{words("line.number")}</span> {number}</p>',
        f'<p class="large">{said}</p>',
    ]
    if not stop:
        lines.append(f'<p class="large">{_wait(room["rate"], ahead, words)}</p>')
        if room["reason"]:
            reason = room["reason"] if room["reason"] in REASONS else "other"
            lines.append(f'<p class="why">{words(f"reason.{reason}")}</p>')
    left = room["seats_left"]
    if left is not None and not room["sold_out"]:
        few = f" · {words('line.few')}" if left <= ahead else ""
        lines.append(quiet(words("line.seats_left", count=left) + few))
    return "".join(lines) + lane + quiet(words("line.keep"))


def _wait(rate: float | None, ahead: int, words: Words) -> str:
    if not rate or rate <= 0:
        return words("line.wait_unknown")
    low = math.floor(ahead / (FASTER * rate))
    high = max(low + 1, math.ceil(ahead / (SLOWER * rate)))
    if high >= HOURS_FROM_MINUTES:
        low = max(1, low // 60)
        return words("line.wait_hours", low=low, high=max(low + 1, math.ceil(high / 60)))
    return words("line.wait_under") if high == 1 else words("line.wait", low=low, high=high)


def _turn(seen: Seen, place: dict[str, Any], page: Page, words: Words) -> str:
    minutes = words.bare("minutes", count=round(seen.room["shopping_seconds"] / 60))
    left = words.escaped(words.time(place["begin_by"] - seen.room["at"]))
    text, begin = ("back.turn", "back.go") if seen.shop else ("turn.text", "turn.begin")
    return (
        titled(words("turn.title"), words(text, minutes=minutes, shop=seen.shop))
        + f'<p class="large">{left} {words("turn.left")}</p>'
        + page.form("begin", words(begin, shop=seen.shop), kind="button main begin")
        + more_time(place, place["begin_by"], page, words)
    )


def _onward(seen: Seen, place: dict[str, Any], page: Page, words: Words) -> str:
    title, told = words("back.title", shop=seen.shop), words("back.inside")
    go = page.form("begin", words("back.go", shop=seen.shop))
    return titled(title, told) + go + more_time(place, place["until"], page, words)


def _asked(asked: Asked, page: Page, words: Words) -> str:
    if asked.stage == "asking":
        return f"<p>{words('plain.asking')}</p>"
    if asked.stage == "paid":
        return titled(words("plain.bought"), done=True) + page.form(
            "again", words("plain.more"), kind="button quiet"
        )
    if asked.stage != "held":
        told = titled(words("plain.nothing"), plain_wish.nothing(asked, words))
        return told + page.form("again", words("plain.again"))
    until = words("plain.held_until", minutes=words.bare("minutes", count=max(1, asked.minutes)))
    seats = "".join(f"<li><b>{escape(seat)}</b></li>" for seat in asked.seats)
    held = titled(words("plain.held"), until) + f'<ul class="mine">{seats}</ul>'
    if asked.pay_url:
        pay = f'<a class="button main" href="{escape(asked.pay_url)}">{words("plain.pay")}</a>'
    else:
        pay = page.form("buy", words("plain.pay" if asked.costs else "plain.buy"))
    return held + pay + page.form("release", words("plain.give_back"), kind="button quiet")
