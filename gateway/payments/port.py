"""What onsale needs of a payment provider. Adapters are thin: they ask and translate, they decide nothing.

Whoever calls `make`, `give_back` or `end` again, with the same payment or refund, gets the same answer:
adapters pass the idempotency keys on that `store.payments` names. A call whose outcome is unknown raises
`ProviderAway` and is made again.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Final, Protocol

from msgspec import Meta, Struct

from store.errors import BadRequest, OnsaleError, Unavailable
from store.payments.begin import Payment
from store.payments.refunds import Due
from store.payments.settle import Notice

Told = Annotated[str, Meta(pattern=r"^[\x21-\x7e]{1,255}$(?!\n)")]
"""An id that a provider gave: such as Postgres can keep."""
Minor = Annotated[int, Meta(ge=0, le=2**53)]
"""An amount that a provider tells."""
_NUMBER: Final = re.compile(r"[1-9][0-9]{0,17}")


def payment_in(kept: Mapping[str, object]) -> int:
    """Our number of a payment, from what a provider was given to keep with it; 0, which is none's, for what
    says none.
    """
    told = kept.get("payment")
    return int(told) if isinstance(told, str) and _NUMBER.fullmatch(told) else 0


class NotGenuine(BadRequest):
    """What was received does not come from the provider, or is too old to be told from a replay."""


class ProviderAway(Unavailable):
    """The payment provider does not answer. Nothing was paid; try again in a moment."""

    code = "provider_away"


class OnItsWay(OnsaleError):
    """Its money is on the way: neither paid nor to be ended now. Ask again later."""


class Made(Struct, frozen=True):
    """A provider's intent, and how its buyer pays: {url} of a page of the provider's, or {client_secret}."""

    intent: str
    checkout: dict[str, str]


class Provider(Protocol):
    """One provider's adapter."""

    name: str
    """As in the `provider` columns."""

    async def make(self, payment: Payment, *, what: str, return_url: str) -> Made:
        """An intent to pay `payment` for `what`, in a few words; the buyer comes back to `return_url`. Raises
        `ProviderAway`, or `Conflicted` (payment_refused) where the provider never will."""

    async def end(self, intent: str) -> Notice | None:
        """Nobody can pay it any more; what the provider knows of it if it is over already (money may have
        come first), else None. Raises `ProviderAway`, and `OnItsWay` where nobody can say yet."""

    async def look(self, intent: str) -> Notice | None:
        """What the provider would tell of it now, None while it is open. Raises `ProviderAway`."""

    async def give_back(self, due: Due) -> str:
        """Give money back, once; the provider's id of the refund. Raises `ProviderAway`, or `Conflicted`
        (refund_refused) where it never will."""

    def read(self, headers: Mapping[str, str], body: bytes) -> Notice:
        """What was received, checked by signature and time over the raw body. `headers` by their names in
        small letters. Raises `NotGenuine` (bad_signature, notice_too_old), or `BadRequest` (bad_notice) for
        what is signed well and cannot be understood."""

    async def close(self) -> None:
        """Its connections end."""
