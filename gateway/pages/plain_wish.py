"""Choosing on the plain page: the ballot's wish, the best available, and both in words. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from gateway.pages import wishes
from gateway.pages.plain_html import Page, Words, more_time, quiet, titled
from gateway.pages.seen import Asked, House, Seen
from gateway.pages.wishes import AREA, SECTION, Fallback, Wished
from notifier.letters import money
from store.plan import Plan
from store.words import APART_MAX, Best, Choice, Want

NOTHING = ("taken", "sold_out", "limit_reached", "closed", "waitlisted")
"""Answers with a text of their own; of all others the page says that the choice could not be read."""
OVER = ("gone", "released", "expired", "refunded")


def choosing(seen: Seen, page: Page, words: Words) -> str:
    """For who is inside: the best that is free."""
    assert seen.house is not None, "who is inside chooses from a house"
    assert seen.place is not None, "who is inside has a place"
    until = seen.place["until"]
    left = "" if until is None else words("inside.left", time=words.time(until - seen.room["at"]))
    fields = _fields(seen.house, _typed(seen, Wished(quantity=1)), page, words)
    return (
        titled(words("turn.begin"))
        + (f'<p class="large">{left}</p>' if left else "")
        + f"<p>{words('plain.script')}</p>"
        + page.form("hold", words("plain.hold"), fields)
        + ("" if until is None else more_time(seen.place, until, page, words))
    )


def wish_form(seen: Seen, page: Page, words: Words) -> str:
    """A wish for the ballot, with what is filed already."""
    assert seen.house is not None, "who files a wish chooses from a house"
    filed = Wished() if seen.wish is None else wishes.wished_of(seen.wish)
    fields = _fields(seen.house, _typed(seen, filed), page, words)
    label = words("wish.file" if seen.wish is None else "wish.change")
    return titled(words("wish.title"), words("wish.text")) + page.form("wish", label, fields, of="wish")


def wish_filed(seen: Seen, page: Page, words: Words) -> str:
    """What is filed, and what can be done with it; or the way to file something."""
    if seen.wish is None or seen.plan is None:
        file = page.link(words("wish.file"), "wish", "button main")
        return titled(words("wish.title"), words("wish.text")) + file
    tries = "".join(f"<li>{words.escaped(one)}</li>" for one in in_words(seen.wish, seen.plan, words))
    return (
        titled(words("wish.filed"), done=True)
        + f'<ol class="tries">{tries}</ol>'
        + quiet(words("wish.filed_text"))
        + page.link(words("wish.change"), "wish", "button quiet")
        + page.form("withdraw", words("wish.withdraw"), kind="link")
    )


def _typed(seen: Seen, otherwise: Wished) -> Wished:
    """What was typed into a form that was refused is there again."""
    typed = seen.typed
    if not typed:
        return otherwise
    numbers = {name: int(text) for name, text in typed.items() if text.isascii() and text.isdecimal()}
    return Wished(
        numbers.get("quantity", otherwise.quantity),
        typed.get("where", ""),
        typed.get("category", ""),
        numbers.get("accessible", 0),
        frozenset([one for one in Fallback if one in typed]),
    )


def _fields(house: House, now: Wished, page: Page, words: Words) -> str:
    def numbers(least: int) -> Iterable[tuple[str, str]]:
        return [(str(one), str(one)) for one in range(least, house.quantity_max + 1)]

    parts = [page.select("quantity", words("plain.quantity"), numbers(1), str(now.quantity))]
    where = [(SECTION + name, name) for name in house.sections]
    where = [("", words.bare("plain.anywhere")), *where] if len(where) > 1 or house.areas else []
    where += [(AREA + guid, f"{name} · {price}") for guid, name, price in house.areas]
    if not house.sections:
        where = where[1:]
    if where:
        parts.append(page.select("where", words("plain.where"), where, now.where))
    if len(house.categories) > 1:
        prices = [(name, f"{name} · {price}") for name, price in house.categories]
        any_price = ("", words.bare("plain.any_price"))
        parts.append(page.select("category", words("plain.price"), [any_price, *prices], now.category))
    if house.accessible:
        label = words("plain.accessible")
        parts.append(page.select("accessible", label, numbers(0), str(now.accessible)))
    return f'<div class="wish">{"".join(parts)}{_fallbacks(house, now, words)}</div>'


def _fallbacks(house: House, now: Wished, words: Words) -> str:
    possible = {
        Fallback.ELSEWHERE: len(house.sections) > 1,
        Fallback.ANY_PRICE: len(house.categories) > 1,
        Fallback.PARTED: bool(house.sections) and house.quantity_max >= wishes.PARTED_MIN,
        Fallback.APART: bool(house.sections) and house.quantity_max > 1,
        Fallback.FEWER: house.quantity_max > 1,
    }
    shown = [one for one in Fallback if possible[one]]
    if not shown:
        return ""
    lines = ""
    for one in shown:
        tick = f'<input type="checkbox" name="{one}"{" checked" if one in now.ticked else ""}>'
        name = words(f"plain.or_{one}", most=APART_MAX)
        lines += f'<li><label class="check">{tick} <span>{name}</span></label></li>'
    legend, told = words("plain.instead"), words("plain.instead_text")
    return f'<fieldset class="fallbacks"><legend>{legend}</legend><ul>{lines}</ul>{quiet(told)}</fieldset>'


def in_words(want: Want, plan: Plan, words: Words) -> list[str]:
    """Each choice of a request, first to last; not escaped."""
    return [_choice_in_words(one, plan, words) for one in want.choices]


def _choice_in_words(choice: Choice, plan: Plan, words: Words) -> str:
    names = {seat.guid: f"{seat.row} {seat.number}" for seat in plan.seats} if choice.seats else {}
    told = [words.bare("plain.try_seat", seat=names.get(guid, guid)) for guid in choice.seats]
    if choice.parties:
        told.append(_party_in_words(choice, plan, words))
    areas = {area.guid: area.name for area in plan.areas}
    told += [
        words.bare(
            "plain.try_fewer_places" if choice.up_to else "plain.try_places",
            count=count,
            area=areas.get(guid, guid),
        )
        for guid, count in choice.areas.items()
    ]
    return ", ".join(told)


def _party_in_words(choice: Choice, plan: Plan, words: Words) -> str:
    first, *others = choice.parties
    total = sum([party.quantity for party in choice.parties])
    if others:
        parts = words.bare("plain.try_and").join([str(party.quantity) for party in choice.parties])
        told = words.bare("plain.try_parted", parts=parts)
    elif choice.up_to:
        told = words.bare("plain.try_fewer", count=total)
    else:
        told = words.bare("plain.try_apart" if first.apart else "plain.try_together", count=total)
    if accessible := sum([party.accessible for party in choice.parties]):
        told = words.bare("plain.try_accessible", what=told, count=accessible)
    return _bounds_in_words(told, first, plan, words)


def _bounds_in_words(told: str, party: Best, plan: Plan, words: Words) -> str:
    told = words.bare(
        "plain.try_in" if party.section else "plain.try_anywhere", what=told, where=party.section
    )
    if party.category:
        told = words.bare("plain.try_at", what=told, category=party.category)
    if party.price_min is not None or party.price_max is not None:
        low = money(party.price_min or 0, plan.currency)
        high = "…" if party.price_max is None else money(party.price_max, plan.currency)
        told = words.bare("plain.try_for", what=told, low=low, high=high)
    return told


def nothing(asked: Asked, words: Words) -> str:
    """Why nothing was given, or that it is over."""
    if asked.stage in OVER:
        return words("plain.over")
    if asked.stage == "sold_out" and asked.result.get("reason") == "none_together":
        return words("plain.nothing_together")
    return words(f"plain.nothing_{asked.stage if asked.stage in NOTHING else 'other'}")
