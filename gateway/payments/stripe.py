"""Stripe's adapter, by Stripe's own library: PaymentIntents that keep our payment's number, signed notices.

A buyer pays with what `make` gives, the intent's client secret, in a page that carries Stripe's elements (see
docs/payments.md). Signatures are checked by the library over the raw body; of what was signed only the few
fields that count are read, which is much quicker than the library's objects.

Stripe forgets an idempotency key after a day, and refunds are tried for longer: whoever tries again first
looks whether the refund is there.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator, Mapping
from typing import Any, Final

import aiohttp
import msgspec
import stripe
from msgspec import Struct

from gateway.payments.port import Made, Minor, NotGenuine, OnItsWay, ProviderAway, Told, payment_in
from store.errors import BadRequest, Conflicted
from store.payments import begin, refunds
from store.payments.begin import Payment
from store.payments.refunds import Due
from store.payments.settle import Notice
from store.payments.states import NoticeKind

log = logging.getLogger("onsale.gateway")

TOLERANCE_SECONDS: Final = 300
TIMEOUT_SECONDS: Final = 15.0
_CANNOT_CANCEL: Final = "payment_intent_unexpected_state"
_MISSING: Final = "resource_missing"
_KINDS: Final = {
    "payment_intent.succeeded": NoticeKind.SUCCEEDED,
    "payment_intent.payment_failed": NoticeKind.FAILED,
    "payment_intent.canceled": NoticeKind.CANCELED,
    "charge.refunded": NoticeKind.REFUNDED,
}
_OVER: Final = {"succeeded": NoticeKind.SUCCEEDED, "canceled": NoticeKind.CANCELED}
_NOT_GIVEN: Final = frozenset({"failed", "canceled"})
"""States of a refund whose money did not go back."""
_EXPAND: Final = ["latest_charge.balance_transaction"]


class _Balance(Struct):
    fee: Minor = 0


class _PaidBy(Struct):
    """A charge, where it was asked for with the intent."""

    balance_transaction: str | _Balance | None = None


class _Intent(Struct):
    id: Told
    amount: Minor
    currency: str
    status: str
    amount_received: Minor = 0
    metadata: dict[str, str] = {}
    latest_charge: str | _PaidBy | None = None


class _Charge(Struct):
    payment_intent: Told | None
    amount: Minor
    currency: str
    metadata: dict[str, str] = {}


class _Data(Struct):
    object: msgspec.Raw


class _Event(Struct):
    id: Told
    type: str
    data: _Data


_decode_event = msgspec.json.Decoder(_Event).decode
_decode_intent = msgspec.json.Decoder(_Intent).decode
_decode_charge = msgspec.json.Decoder(_Charge).decode


class Stripe:
    """See `gateway.payments.port.Provider`. `url` in place of Stripe's address."""

    name = "stripe"

    def __init__(self, key: str, webhook_secret: str, *, url: str = "") -> None:
        self._secret = webhook_secret
        self._http = stripe.AIOHTTPClient(timeout=TIMEOUT_SECONDS)  # aiohttp's pool: 100 connections
        bases: Any = {"api": url} if url else None
        client = stripe.StripeClient(key, base_addresses=bases, http_client=self._http, max_network_retries=0)
        self._intents = client.v1.payment_intents
        self._refunds = client.v1.refunds

    async def make(self, payment: Payment, *, what: str, return_url: str) -> Made:
        kept = {"payment": str(payment.id), "hold": str(payment.hold_id), "event": str(payment.event_id)}
        with _told_plainly("payment_refused"):
            made = await self._intents.create_async(
                {
                    "amount": payment.amount_minor,
                    "currency": payment.currency.lower(),
                    "description": what,
                    "metadata": kept,
                    "automatic_payment_methods": {"enabled": True},
                },
                {"idempotency_key": begin.key_of(payment.id)},
            )
        assert made.client_secret, "whoever makes an intent with the secret key is told its client secret"
        return Made(made.id, {"client_secret": made.client_secret})

    async def end(self, intent: str) -> Notice | None:
        try:
            with _told_plainly(""):
                await self._intents.cancel_async(intent, {"cancellation_reason": "abandoned"})
        except stripe.InvalidRequestError as error:
            if error.code == _MISSING:
                return None
            over = await self.look(intent)
            if over is None:
                raise OnItsWay from error
            return over
        return None

    async def look(self, intent: str) -> Notice | None:
        try:
            with _told_plainly(""):
                found = await self._intents.retrieve_async(intent, {"expand": _EXPAND})
        except stripe.InvalidRequestError as error:
            if error.code == _MISSING:
                return None
            raise ProviderAway from error
        read = msgspec.convert(found.to_dict(), _Intent)
        kind = _OVER.get(read.status)
        return None if kind is None else _notice_of(f"look-{read.id}-{kind}", kind, read)

    async def give_back(self, due: Due) -> str:
        kept = {"refund": str(due.id), "payment": str(due.payment)}
        with _told_plainly("refund_refused"):
            if due.attempts > 1:
                there = await self._refunds.list_async({"payment_intent": due.intent, "limit": 100})
                for one in there.data:
                    known: dict[str, str] = one.metadata.to_dict() if one.metadata else {}
                    if known.get("refund") == kept["refund"] and one.status not in _NOT_GIVEN:
                        return one.id
            given = await self._refunds.create_async(
                {"payment_intent": due.intent, "amount": due.amount_minor, "metadata": kept},
                {"idempotency_key": refunds.key_of(due.id)},
            )
        if given.status in _NOT_GIVEN:
            raise Conflicted("refund_refused", f"Stripe could not give it back ({given.status}).")
        return given.id

    def read(self, headers: Mapping[str, str], body: bytes) -> Notice:
        try:
            signed = headers.get("stripe-signature")
            stripe.WebhookSignature.verify_header(body, signed, self._secret, TOLERANCE_SECONDS)
        except (stripe.SignatureVerificationError, ValueError, TypeError) as error:  # a header beyond ASCII
            if "tolerance" in str(error):
                raise NotGenuine("notice_too_old", "This was signed too long ago. Sign it anew.") from None
            raise NotGenuine("bad_signature", "This is not signed by Stripe for this endpoint.") from None
        try:
            event = _decode_event(body)
            kind = _KINDS.get(event.type, NoticeKind.OTHER)
            if kind is NoticeKind.OTHER:
                return Notice(self.name, event.id, kind, 0, "", 0, "")
            if kind is NoticeKind.REFUNDED:
                return _notice_of_charge(event.id, _decode_charge(event.data.object))
            return _notice_of(event.id, kind, _decode_intent(event.data.object))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise BadRequest("bad_notice", f"This notice cannot be understood: {error}") from None

    async def close(self) -> None:
        await self._http.close_async()  # type: ignore[no-untyped-call]


def _notice_of(number: str, kind: NoticeKind, intent: _Intent) -> Notice:
    """What came in is what counts of a success, and what was asked for else."""
    amount = intent.amount_received if kind is NoticeKind.SUCCEEDED else intent.amount
    charge = intent.latest_charge
    balance = charge.balance_transaction if isinstance(charge, _PaidBy) else None
    fee = balance.fee if isinstance(balance, _Balance) and kind is NoticeKind.SUCCEEDED else 0
    told = (intent.id, amount, intent.currency, fee)
    return Notice(Stripe.name, number, kind, payment_in(intent.metadata), *told)


def _notice_of_charge(number: str, charge: _Charge) -> Notice:
    told = (charge.payment_intent or "", charge.amount, charge.currency)
    return Notice(Stripe.name, number, NoticeKind.REFUNDED, payment_in(charge.metadata), *told)


@contextlib.contextmanager
def _told_plainly(refused: str) -> Iterator[None]:
    """Stripe's errors as ours; what Stripe refuses for good is `Conflicted` (`refused`), or raised as it is
    where that is empty.
    """
    try:
        yield
    except (stripe.InvalidRequestError, stripe.CardError) as error:
        if not refused:
            raise
        log.warning("Stripe refuses (%s): %s", refused, error.code)
        raise Conflicted(refused, f"Stripe does not take it ({error.code or 'no code'}).") from error
    except (stripe.AuthenticationError, stripe.PermissionError) as error:
        log.error("ALERT: Stripe does not know this key, or it may not do this: %s", error.code)
        raise ProviderAway from error
    except (stripe.StripeError, aiohttp.ClientError, TimeoutError, OSError) as error:
        raise ProviderAway from error
