"""What becomes of a payment: pure, whatever order its provider's notices arrive in and however often.

```
created ──▶ failed ──▶ succeeded ──▶ refund_due ──▶ refunded
   │  ╲        │           ▲  ▲            ▲
   │   ╲       ▼           │  │            │
   │    ╰▶ canceled ───────╯ late ─────────╯
   ╰───────────────────────────▲
```

- `created`: the buyer may pay, and try again in the same hold after a card was declined (`failed`).
- `canceled`: the hold ended first. The provider may still say later that it took the money.
- `succeeded`: the money is there and has bought `order_id`. It never buys anything else.
- `late`: the money is there, the hold was over, and the same seats are asked for again in the event's stream.
- `refund_due`, `refunded`: all of the money goes back, or went.

Money that arrived is in one of the last four states, always: it has seats, asks for them, or goes back.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final


class PaymentState(StrEnum):
    """See the module."""

    CREATED = "created"
    FAILED = "failed"
    CANCELED = "canceled"
    SUCCEEDED = "succeeded"
    LATE = "late"
    REFUND_DUE = "refund_due"
    REFUNDED = "refunded"


class NoticeKind(StrEnum):
    """What a provider says became of a payment."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"
    """This attempt; another may follow."""
    CANCELED = "canceled"
    REFUNDED = "refunded"
    """Some of the money is back with the buyer; a refund's own answer says the same."""
    OTHER = "other"
    """Well signed, and nothing that onsale acts on."""


class HoldFate(StrEnum):
    """What a payment that succeeded found of its hold."""

    ALIVE = "alive"
    """Held by its buyer, not run out, and has what the payment was made for."""
    CHANGED = "changed"
    """Alive, but some of it was given back since."""
    OVER = "over"
    """It ran out."""
    RELEASED = "released"
    """Its buyer gave it back, or moved to other seats."""
    PAID = "paid"
    """Another payment bought it."""
    REFUNDED = "refunded"


class LatePolicy(StrEnum):
    """What an organiser does with money that comes when its hold has run out."""

    REFUND = "refund"
    REACQUIRE = "reacquire"
    """Ask for the same seats again, as a request like any other; money goes back if they are gone."""


OPEN: Final = frozenset({PaymentState.CREATED, PaymentState.FAILED})
"""The buyer may still pay; at most one such payment for each hold."""
UNPAID: Final = OPEN | {PaymentState.CANCELED}
"""No money has arrived."""


def after_no_money(state: PaymentState, kind: NoticeKind) -> PaymentState:
    """What a `FAILED` or `CANCELED` notice makes of a payment; the same state: nothing.

    Either may arrive after the success of a later attempt, and undoes nothing then.
    """
    if state not in OPEN or kind not in (NoticeKind.FAILED, NoticeKind.CANCELED):
        return state
    return PaymentState.FAILED if kind is NoticeKind.FAILED else PaymentState.CANCELED


def after_money(fate: HoldFate, policy: LatePolicy) -> PaymentState:
    """What an `UNPAID` payment becomes when its money arrives, by what it finds of its hold."""
    if fate is HoldFate.ALIVE:
        return PaymentState.SUCCEEDED
    if fate is HoldFate.OVER and policy is LatePolicy.REACQUIRE:
        return PaymentState.LATE
    return PaymentState.REFUND_DUE
