"""Joining on the plain page: a code, a mail address, a wait in place of a proof of work, leaving. Pure."""

from __future__ import annotations

from gateway.pages.plain_html import Page, Words, quiet, titled
from gateway.pages.seen import Seen
from gateway.room.patience import GOOD_SECONDS

CODE_LENGTH_MAX, MAIL_LENGTH_MAX = 200, 254


def outside(seen: Seen, page: Page, words: Words) -> str:
    """For who has no place: before the sale, beside a line, or after their time ran out."""
    room, place = seen.room, seen.place
    if room["phase"] == "draft":
        return early(seen, words)
    if room["phase"] == "closed":
        return titled(words("stopped.title"))
    missed = seen.state == "expired" and place is not None and place["begun_at"] is None
    if room["phase"] == "stopped" and not missed:
        return titled(words("stopped.title"), words("stopped.text"))
    title, text, label = "outside.title", "outside.text", "join.line"
    if room["phase"] == "lobby":
        text = "lobby.text_fifo" if room["policy"] == "fifo" else "lobby.text"
        title, label = "lobby.title", "join"
    elif missed:
        title, text, label = "missed.title", "missed.text", "join.back"
    elif seen.state == "expired":
        title, text, label = "time_over.title", "time_over.text", "join.again"
    elif room["sold_out"]:
        title, text = "sold_out.title", "sold_out.text"
    opens = begins(seen, words) if room["phase"] == "lobby" else ""
    return titled(words(title)) + opens + f"<p>{words(text)}</p>" + _way_in(seen, page, words, words(label))


def early(seen: Seen, words: Words) -> str:
    """Nobody can join yet; from when one can, where that is known."""
    joins_at, opens_at = seen.room["lobby_opens_at"], seen.room["opens_at"]
    if joins_at is None:
        return titled(words("lobby.title")) + (begins(seen, words) if opens_at is not None else "")
    sale = quiet(words("early.sale", date=words.date(opens_at))) if opens_at is not None else ""
    until = _until(seen, words, joins_at, "early.joins")
    return titled(words("early.title")) + until + f"<p>{words('early.text')}</p>" + sale


def begins(seen: Seen, words: Words) -> str:
    """When the sale begins, as far as that is known."""
    opens_at = seen.room["opens_at"]
    if opens_at is None:
        return quiet(words("lobby.opens_unknown"))
    return _until(seen, words, opens_at, "lobby.opens")


def _until(seen: Seen, words: Words, at: int, says: str) -> str:
    left = at - seen.room["at"]
    said = words("lobby.opens_soon") if left <= 0 else words.escaped(words.time(left))
    date = words("lobby.opens_at", date=words.date(at))
    return (
        f'<p class="opens"><span>{words(says)}</span> <b class="place-figures">{said}</b> '
        f"<small>{date}</small></p>"
    )


def _way_in(seen: Seen, page: Page, words: Words, label: str) -> str:
    if seen.human_check:
        here = f'<a class="button quiet" href="/e/{seen.event}">{words("plain.human_reload")}</a>'
        return f'<p class="why">{words("plain.human_check")}</p>{here}'
    if not seen.room["proof"]:
        return page.form("join", label, _fields(page, words))
    lobby = words("plain.wait_lobby" if seen.room["phase"] == "lobby" else "plain.wait_line")
    why = f'<p class="why">{words("plain.wait_why")} {lobby}</p>'
    if seen.wait_left is None:
        begin = words("plain.wait_begin", count=seen.wait_new)
        return why + (
            page.form("join", begin, _fields(page, words)) if seen.typed else page.form("wait", begin)
        )
    if seen.wait_left:
        left = f'<p class="large"><b>{words("plain.wait_left", count=seen.wait_left)}</b></p>'
        if seen.typed:  # nothing that was typed is lost by a page that renews itself
            kept = f"<p>{words('plain.wait_kept')}</p>"
            return why + left + kept + page.form("join", label, _fields(page, words))
        return why + left + f"<p>{words('plain.wait_then')}</p>"
    over = words("plain.wait_over", minutes=words.bare("minutes", count=GOOD_SECONDS // 60))
    return f"<p>{over}</p>" + page.form("join", label, _fields(page, words))


def _fields(page: Page, words: Words) -> str:
    filled = " open" if page.typed.get("code") else ""
    code = f"<details{filled}><summary>{words('join.code')}</summary>{_code(page, words)}</details>"
    return _mail(page, words) + code


def _code(page: Page, words: Words) -> str:
    return page.field(
        "code",
        words("join.code_label"),
        words("join.code_help"),
        maxlength=CODE_LENGTH_MAX,
        autocomplete="off",
        autocapitalize="none",
        spellcheck="false",
    )


def _mail(page: Page, words: Words) -> str:
    return page.field(
        "email",
        words("plain.mail"),
        words("plain.mail_help"),
        type="email",
        maxlength=MAIL_LENGTH_MAX,
        autocomplete="email",
    )


def code_form(page: Page, words: Words) -> str:
    """For who stands in the ordinary lane and found their code."""
    text = words("plain.code_text")
    return titled(words("join.code"), text) + page.form(
        "join", words("plain.code_use"), _code(page, words), of="code"
    )


def mail_form(page: Page, words: Words) -> str:
    """An address, or another in place of the one that was given."""
    return titled(words("plain.mail_title"), words("plain.mail_text")) + page.form(
        "join", words("plain.mail_keep"), _mail(page, words), of="mail"
    )


def leave_form(page: Page, words: Words) -> str:
    """Asks once: a place that was left is gone."""
    stay = page.link(words("leave.stay"), kind="button main")
    return (
        titled(words("leave"), words("leave.sure"))
        + stay
        + page.form("leave", words("leave.really"), kind="button quiet")
    )
