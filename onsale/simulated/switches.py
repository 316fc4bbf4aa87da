"""What the provider does wrong, when it is told to; and the dice that say when."""

from __future__ import annotations

import random
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

Chance = Annotated[float, Meta(ge=0.0, le=1.0)]
Milliseconds = Annotated[int, Meta(ge=0, le=600_000)]


class Switches(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Chances are from 0 (never) to 1 (always); all is well unless told."""

    duplicates: Chance = 0.0
    """A notice is sent once more after it was taken."""
    delay_ms: Milliseconds = 0
    """Each notice waits up to so long before it is sent."""
    reorder: Chance = 0.0
    """A notice is held back for up to a second, so that those made after it overtake it."""
    lost_replies: Chance = 0.0
    """What a call asks for is done, and the connection cut instead of an answer."""
    wrong_signatures: Chance = 0.0
    """A notice is sent with a signature that is not right; the next try draws again."""
    errors: Chance = 0.0
    """A call is answered 500, and nothing done."""
    webhooks: bool = True
    """Off: notices are kept, and sent when it is on again."""
    seed: int = 1


REORDER_SECONDS = (0.2, 1.0)


def changed(switches: Switches, change: bytes) -> Switches:
    """With what the JSON object `change` says; raises `msgspec.ValidationError` or `DecodeError`."""
    told = msgspec.json.decode(change, type=dict[str, float | int | bool])
    return msgspec.convert(msgspec.to_builtins(switches) | told, Switches)


class Dice:
    """Draws by the switches' seed: the same calls in the same order fail the same way."""

    def __init__(self, switches: Switches) -> None:
        self.switches = switches
        self._random = random.Random(switches.seed)

    def set(self, switches: Switches) -> None:
        """Other switches; another seed begins anew."""
        if switches.seed != self.switches.seed:
            self._random = random.Random(switches.seed)
        self.switches = switches

    def falls(self, chance: float) -> bool:
        """Whether it happens this time. One that never or always does draws nothing."""
        return chance >= 1.0 or (chance > 0.0 and self._random.random() < chance)

    def pause(self) -> tuple[float, bool]:
        """How long a new notice waits, in seconds, and whether it is held back so that others overtake it."""
        pause = self._random.uniform(0, self.switches.delay_ms / 1000) if self.switches.delay_ms else 0.0
        if not self.falls(self.switches.reorder):
            return pause, False
        return pause + self._random.uniform(*REORDER_SECONDS), True

    def jitter(self) -> float:
        return self._random.uniform(0.5, 1.0)
