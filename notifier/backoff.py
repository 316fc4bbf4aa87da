"""When a message is tried again: pure.

Up to `QUICK_TRIES` within seconds, while the messages behind it wait: that mends a deployment or a hiccup and
keeps the order. Then it is set aside and tried `LATER_SECONDS` later each time, about three days in all, as
Standard Webhooks advises; after that it is a dead letter.

Pauses are jittered by a fifth: those who failed together do not come back together.
"""

from __future__ import annotations

from typing import Final

QUICK_SECONDS: Final = (1.0, 4.0)
QUICK_TRIES: Final = len(QUICK_SECONDS) + 1
"""The first, and one after each of the pauses."""
AWAY_SECONDS: Final = (5.0, 10.0, 20.0, 40.0, 60.0)
"""Between tries of a subscriber that is waited for, message by message, because too many are set aside."""
_HOUR: Final = 3_600.0
LATER_SECONDS: Final = (300.0, 1_800.0, *(hours * _HOUR for hours in (2, 5, 10, 14, 20, 24)))
TRIES_MAX: Final = QUICK_TRIES + len(LATER_SECONDS)
JITTER: Final = 0.2
ASKED_SECONDS_MAX: Final = _HOUR
"""A subscriber that says when to come back is believed up to here; while others wait behind the message,
up to the last of `AWAY_SECONDS`."""


def pause_before(tries: int, luck: float, asked_seconds: float = 0.0) -> float | None:
    """Seconds until the next try after `tries` failed ones; None: there is none, it is dead.

    `luck` is from 0 to 1; `asked_seconds` what the subscriber said in Retry-After.
    """
    assert tries > 0, "the first try needs no pause"
    if tries >= TRIES_MAX:
        return None
    return _jittered((*QUICK_SECONDS, *LATER_SECONDS)[tries - 1], luck, asked_seconds)


def pause_in_order(tries: int, luck: float, asked_seconds: float = 0.0) -> float:
    """Likewise for a message that those behind it wait for, however often it fails."""
    assert tries > 0, "the first try needs no pause"
    steps = (*QUICK_SECONDS, *AWAY_SECONDS)
    return _jittered(steps[min(tries, len(steps)) - 1], luck, min(asked_seconds, AWAY_SECONDS[-1]))


def _jittered(seconds: float, luck: float, asked_seconds: float) -> float:
    own = seconds * (1 - JITTER + 2 * JITTER * luck)
    return max(own, min(asked_seconds, ASKED_SECONDS_MAX))
