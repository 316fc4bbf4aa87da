"""What the doctor found: each thing looked at, how much it matters, and what to do about it."""

from __future__ import annotations

import enum
from dataclasses import dataclass


class Level(enum.StrEnum):
    """How much a finding matters: `bad` needs a hand now, `warn` will, `ok` and `note` need none."""

    OK = "ok"
    NOTE = "note"
    WARN = "warn"
    BAD = "bad"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing looked at, and what to do about it where something is to be done."""

    level: Level
    subject: str
    found: str
    remedy: str = ""


@dataclass(frozen=True, slots=True)
class Report:
    """Everything that was looked at, in the order of looking."""

    findings: tuple[Finding, ...]

    @property
    def healthy(self) -> bool:
        return not any(finding.level is Level.BAD for finding in self.findings)
