"""The console has plain words for all that the code can write: its tables have no gap and no row too many."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from gateway.pages.files import FILES
from store.fleet.words import FleetWhat
from store.mail import Alone
from store.outbox import Told
from store.payments.states import PaymentState
from store.room.refused import Reason
from store.room.words import Admission, PlaceState, RoomTerms, SlowedBy
from store.schedule import Times
from store.terms import TERMS
from store.words import EventState, HoldState, Outcome

ROOMS: Final = ("store", "allocator", "notifier", "gateway", "onsale")
WEBHOOKS: Final = Path("store/subscribers/edit.py")
"""Writes each of its kinds with that word behind it."""


def table(file: str, name: str) -> set[str]:
    """The keys of a table of words."""
    text = FILES[f"console/{file}"].decode()
    found = re.search(rf"^(?:export )?const {name} = \{{(.*?)\}};?$", text, re.DOTALL | re.MULTILINE)
    assert found is not None, f"{file} has no table {name}"
    return {
        quoted or bare
        for quoted, bare in re.findall(r'(?:^|[,{]\s|^\s+)(?:"([\w. ]+)"|(\w+)): ', found[1], re.MULTILINE)
    }


def kinds_written() -> Iterator[str]:
    """Of all rows in the audit: what `change` is in what is written."""
    root = Path(__file__).parents[2]
    for path in sorted(path for room in ROOMS for path in (root / room).rglob("*.py")):
        behind = " webhook" if path == root / WEBHOOKS else ""
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Dict):
                for key, value in zip(node.keys, node.values, strict=True):
                    if isinstance(key, ast.Constant) and key.value == "change":
                        either = [value.body, value.orelse] if isinstance(value, ast.IfExp) else [value]
                        said = [one.value for one in either if isinstance(one, ast.Constant)]
                        yield from (f"{one}{behind}" for one in said if isinstance(one, str))


def test_every_kind_of_change_has_words() -> None:
    assert table("changes.js", "SAYS") == set(kinds_written())


TABLES: Final = [
    ("changes.js", "ADMITS", Admission),
    ("changes.js", "TERMS", {*TERMS, *RoomTerms.__struct_fields__, *Times.__struct_fields__}),
    ("words.js", "STATES", EventState),
    ("words.js", "SLOWED", SlowedBy),
    ("launch/more.js", "ADMISSION", Admission),
    ("launch/steps.js", "OUTCOMES", Outcome),
    ("launch/steps.js", "REASONS", Reason),
    ("buyers/parts.js", "OUTCOMES", Outcome),
    ("buyers/parts.js", "PLACES", PlaceState),
    ("buyers/parts.js", "HOLDS", HoldState),
    ("buyers/parts.js", "PAYMENTS", PaymentState),
    ("buyers/parts.js", "MAILS", [*Told, *Alone]),
]


@pytest.mark.parametrize(("file", "name", "words"), TABLES)
def test_every_word_of_the_code_has_its_words(file: str, name: str, words: list[str]) -> None:
    assert table(file, name) == set(words)


def test_every_term_has_its_rule() -> None:
    """Limits are a rule for each category."""
    found = re.findall(r'^  \{ name: "(\w+)"', FILES["console/rules/terms.js"].decode(), re.MULTILINE)
    terms = [*TERMS, *RoomTerms.__struct_fields__, *Times.__struct_fields__]
    assert sorted([*found, "limits"]) == sorted(terms)


def test_every_row_of_the_fleets_log_is_told_as_a_sentence() -> None:
    told = table("fleet/moved.js", "OF_EVENT") | table("fleet/moved.js", "OF_HOST") | {"short"}
    assert told == set(FleetWhat)
