"""Pseudonyms, and a buyer's id within JSON text: pure.

Rows of the ledger are digested as text, so text is changed in place: nothing but the id becomes other bytes.
"""

from __future__ import annotations

import json
import re
import secrets
from typing import Final

import msgspec

PSEUDONYM: Final = re.compile(r"erased:[0-9a-f]{32}")
NAMES: Final = ("buyer", "from", "to", "holder")
"""Fields of what is told and kept in which a buyer's id stands."""


def new_pseudonym() -> str:
    """What stands for a buyer of one event from now on; nobody can tell from it who that was."""
    return f"erased:{secrets.token_hex(16)}"


def is_pseudonym(buyer: str) -> bool:
    """Whether that buyer's data were erased: who asks for nothing any more, and is limited in nothing."""
    return PSEUDONYM.fullmatch(buyer) is not None


def names_pseudonym(text: str) -> bool:
    """Whether one stands somewhere in a text."""
    return PSEUDONYM.search(text) is not None


def in_field(text: str, buyer: str, pseudonym: str, names: tuple[str, ...]) -> str:
    """JSON text with the pseudonym where the buyer is the value of one of these fields."""
    fields = "|".join(names)
    return re.sub(rf'("(?:{fields})"\s*:\s*)(?:{_written(buyer)})', rf'\g<1>"{pseudonym}"', text)


def in_keys(text: str, buyer: str, pseudonym: str) -> str:
    """JSON text with the pseudonym where the buyer is the name of a field."""
    return re.sub(rf"(?<=[{{,])(\s*)(?:{_written(buyer)})(?=\s*:)", rf'\g<1>"{pseudonym}"', text)


def as_written(buyer: str) -> list[str]:
    """How JSON has a buyer: letters beyond ASCII as they are, or escaped."""
    return sorted({msgspec.json.encode(buyer).decode(), json.dumps(buyer)})


def _written(buyer: str) -> str:
    return "|".join(re.escape(form) for form in as_written(buyer))
