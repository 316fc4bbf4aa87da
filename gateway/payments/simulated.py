"""The simulated provider's adapter: what it is asked by HTTP, and its notices, signed by Standard Webhooks.

The provider itself is `onsale.simulated`. Calls share a bounded pool of connections, and each has a bound on
its time and on what it reads.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import aiohttp
import msgspec
from msgspec import Struct
from standardwebhooks import Webhook, WebhookVerificationError

from gateway.payments.port import Made, Minor, NotGenuine, ProviderAway, Told, payment_in
from store.errors import BadRequest, Conflicted
from store.payments import begin, refunds
from store.payments.begin import Payment
from store.payments.refunds import Due
from store.payments.settle import Notice
from store.payments.states import NoticeKind

CONNECTIONS_MAX: Final = 50
TIMEOUT: Final = aiohttp.ClientTimeout(total=10, sock_connect=2)
ANSWER_BYTES_MAX: Final = 64 * 1024
_AWAY: Final = (aiohttp.ClientError, TimeoutError, OSError)
_KINDS: Final = {
    "payment.succeeded": NoticeKind.SUCCEEDED,
    "payment.failed": NoticeKind.FAILED,
    "payment.canceled": NoticeKind.CANCELED,
    "payment.refunded": NoticeKind.REFUNDED,
}
_OVER: Final = {"succeeded": NoticeKind.SUCCEEDED, "canceled": NoticeKind.CANCELED}


class _Intent(Struct):
    """As the provider tells of it."""

    id: Told
    status: str
    amount_minor: Minor
    currency: str
    metadata: dict[str, str]
    url: str = ""
    fee_minor: Minor = 0


class _Told(Struct):
    type: str
    data: msgspec.Raw


class _Refund(Struct):
    id: Told


_decode_intent = msgspec.json.Decoder(_Intent).decode
_decode_told = msgspec.json.Decoder(_Told).decode
_decode_refund = msgspec.json.Decoder(_Refund).decode


class Simulated:
    """See `gateway.payments.port.Provider`. `secret` is the endpoint's, `whsec_…`."""

    name = "simulated"

    def __init__(self, url: str, secret: str) -> None:
        self._url = url
        self._webhook = Webhook(secret)
        self._session: aiohttp.ClientSession | None = None

    async def make(self, payment: Payment, *, what: str, return_url: str) -> Made:
        body = {
            "amount_minor": payment.amount_minor,
            "currency": payment.currency,
            "description": what,
            "return_url": return_url,
            "metadata": {"payment": str(payment.id), "hold": str(payment.hold_id)},
        }
        status, answer = await self._ask("POST", "/v1/intents", body, begin.key_of(payment.id))
        if status != 200:
            raise Conflicted("payment_refused", "The payment provider does not take this payment.")
        made = _understood(_decode_intent, answer)
        return Made(made.id, {"url": made.url})

    async def end(self, intent: str) -> Notice | None:
        status, answer = await self._ask("POST", f"/v1/intents/{intent}/cancel")
        if status == 409:  # it was paid
            return await self.look(intent)
        if status != 404:
            _understood(_decode_intent, answer)
        return None

    async def look(self, intent: str) -> Notice | None:
        status, answer = await self._ask("GET", f"/v1/intents/{intent}")
        if status == 404:
            return None
        found = _understood(_decode_intent, answer)
        kind = _OVER.get(found.status)
        return None if kind is None else _notice(f"look-{found.id}-{kind}", kind, found)

    async def give_back(self, due: Due) -> str:
        body = {"intent": due.intent, "amount_minor": due.amount_minor, "reason": due.reason}
        status, answer = await self._ask("POST", "/v1/refunds", body, refunds.key_of(due.id))
        if status != 200:
            raise Conflicted("refund_refused", f"The payment provider refuses it ({status}).")
        refund: _Refund = _understood(_decode_refund, answer)
        return refund.id

    def read(self, headers: Mapping[str, str], body: bytes) -> Notice:
        try:
            self._webhook.verify(body, dict(headers), json_parse=False)
        except (WebhookVerificationError, ValueError) as error:
            if "timestamp too" in str(error):
                raise NotGenuine("notice_too_old", "This was signed too long ago. Sign it anew.") from None
            raise NotGenuine("bad_signature", "This is not signed by the provider.") from None
        try:
            told = _decode_told(body)
            kind = _KINDS.get(told.type, NoticeKind.OTHER)
            if kind is NoticeKind.OTHER:
                return Notice(self.name, headers["webhook-id"], kind, 0, "", 0, "")
            return _notice(headers["webhook-id"], kind, _decode_intent(told.data))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise BadRequest("bad_notice", f"This notice cannot be understood: {error}") from None

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()

    async def _ask(self, method: str, path: str, body: object = None, key: str = "") -> tuple[int, bytes]:
        """Its answer, of a status that says what was done or why it was not; raises `ProviderAway`."""
        if self._session is None:
            connector = aiohttp.TCPConnector(limit=CONNECTIONS_MAX)
            self._session = aiohttp.ClientSession(connector=connector, timeout=TIMEOUT)
        raw = b"" if body is None else msgspec.json.encode(body)
        headers = {"Content-Type": "application/json"} | ({"Idempotency-Key": key} if key else {})
        try:
            async with self._session.request(method, self._url + path, data=raw, headers=headers) as answer:
                answered = await _bounded(answer)
                if answer.status >= 500 or answer.status == 429:
                    raise ProviderAway
                return answer.status, answered
        except _AWAY as error:
            raise ProviderAway from error


async def _bounded(answer: aiohttp.ClientResponse) -> bytes:
    raw = bytearray()
    async for chunk in answer.content.iter_any():
        raw += chunk
        if len(raw) > ANSWER_BYTES_MAX:
            raise ProviderAway
    return bytes(raw)


def _understood(decode: Any, answer: bytes) -> Any:
    try:
        return decode(answer)
    except msgspec.DecodeError as error:
        raise ProviderAway from error


def _notice(number: str, kind: NoticeKind, of: _Intent) -> Notice:
    told = (of.id, of.amount_minor, of.currency, of.fee_minor if kind is NoticeKind.SUCCEEDED else 0)
    return Notice(Simulated.name, number, kind, payment_in(of.metadata), *told)
