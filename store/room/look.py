"""How an event's waiting room looks and speaks: the organiser's name, one colour, the language, own texts.

Everybody reads it with the room's status, so it is small; pages show texts as text, never as markup.
"""

from __future__ import annotations

import re
from typing import Final

from msgspec import Struct

from store.errors import BadRequest

NAME_LENGTH_MAX: Final = 100
TEXTS_MAX: Final = 100
TEXT_LENGTH_MAX: Final = 500
ALL_TEXTS_LENGTH_MAX: Final = 8_000
_ACCENT: Final = re.compile(r"#[0-9a-fA-F]{6}")
_LANG: Final = re.compile(r"[a-z]{2,3}(?:-[A-Za-z0-9]{2,8})?")
_KEY: Final = re.compile(r"[a-z_.]{1,64}")


class Look(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """What is left out is as onsale has it."""

    name: str = ""
    accent: str = ""
    """`#rrggbb`; pages make it readable in light and dark."""
    lang: str = ""
    """Of the texts, such as `de`."""
    texts: dict[str, str] = {}
    """In place of the page's own, by their names in its catalogue, such as `lobby.title`."""


def check(look: Look) -> Look:
    """`look`, or raises `BadRequest` (invalid_look) saying what cannot be."""
    if len(look.name) > NAME_LENGTH_MAX or not look.name.isprintable():
        raise _refused(f"name must have at most {NAME_LENGTH_MAX} printable characters")
    if look.accent and not _ACCENT.fullmatch(look.accent):
        raise _refused("accent must be a colour such as #2f4fc4")
    if look.lang and not _LANG.fullmatch(look.lang):
        raise _refused("lang must be a language such as de or pt-BR")
    if len(look.texts) > TEXTS_MAX or sum(map(len, look.texts.values())) > ALL_TEXTS_LENGTH_MAX:
        raise _refused(f"texts must be at most {TEXTS_MAX}, of {ALL_TEXTS_LENGTH_MAX:,} characters in all")
    for key, text in look.texts.items():
        if not _KEY.fullmatch(key):
            raise _refused(f"{key[:64]!r} is no text's name; they are such as lobby.title")
        if not 0 < len(text) <= TEXT_LENGTH_MAX or not all(line.isprintable() for line in text.split("\n")):
            raise _refused(f"{key} must have 1 to {TEXT_LENGTH_MAX} characters of text")
    return look


def _refused(why: str) -> BadRequest:
    return BadRequest("invalid_look", f"{why[0].upper()}{why[1:]}.")
