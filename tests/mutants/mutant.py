"""What a mutant is: one guard taken out, and the tests that must notice."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    """What a guard guards; every kind has mutants (`test_catalogue`)."""

    FENCE = "fence"
    TAKEOVER = "takeover"
    CONDITION = "conditional write"
    COUNT = "count check"
    CONSTRAINT = "constraint"
    CLOCK = "clock"
    DEDUPE = "repeats"
    OVERLAY = "overlay"
    FACTS = "facts"
    EXPIRY = "expiry"
    SNAPSHOT = "snapshot"
    STREAM = "stream"
    READ_AHEAD = "read-ahead"
    PAUSE = "pause"
    HALVING = "halving"
    COMMIT = "lost reply"
    GATE = "fast gate"
    ASK_AGAIN = "asked again"
    INTAKE_ORDER = "intake order"
    BOUND = "bound"
    TOKEN = "token"
    ORIGIN = "origin"
    LOCK_ORDER = "lock order"
    LEDGER = "hash chain"
    REPLAY = "replay"
    CHECKER = "checker"


@dataclass(frozen=True, slots=True)
class Mutant:
    """A fault: in `file`, the only `old` becomes `new` (and each pair of `more` likewise).

    `noticed_by` are pytest ids, `tests/room/test_file.py::test_name`: they run against the fault, and at
    least one must fail. Each passes without it.
    """

    guard: str
    """What the guard promises, in plain words; unique."""
    kind: Kind
    file: str
    old: str
    new: str
    noticed_by: tuple[str, ...]
    more: tuple[tuple[str, str], ...] = ()

    @property
    def edits(self) -> tuple[tuple[str, str], ...]:
        return ((self.old, self.new), *self.more)


class DoesNotApply(Exception):
    """The text a mutant takes out does not stand in its file exactly once."""


def mutated(text: str, mutant: Mutant) -> str:
    """`text` with the fault in it; raises `DoesNotApply` where the guard was rewritten meanwhile."""
    for old, new in mutant.edits:
        count = text.count(old)
        if count != 1:
            first = old.strip().partition("\n")[0]
            raise DoesNotApply(
                f"{first!r} stands {count} times in {mutant.file}; bring the mutant up to date"
            )
        text = text.replace(old, new)
    return text


class In:
    """Writes down mutants of one file: `In("room/file.py")(kind, guard, old, new, *tests)`."""

    def __init__(self, file: str) -> None:
        self._file = file

    def __call__(
        self,
        kind: Kind,
        guard: str,
        old: str,
        new: str,
        *noticed_by: str,
        more: tuple[tuple[str, str], ...] = (),
    ) -> Mutant:
        return Mutant(guard, kind, self._file, old, new, noticed_by, more)
