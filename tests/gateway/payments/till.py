"""A till: a gateway, the real allocator and the simulated provider in one process, and buyers who pay.

All of it is the real thing, on the engines of the test rig; buyers and the provider talk HTTP.
"""

from __future__ import annotations

import base64
import contextlib
import http.client
import json
import socket
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from aiohttp import web
from standardwebhooks import Webhook

from gateway.settings import PaymentSettings
from onsale.engines.ports import LOOPBACK
from onsale.simulated.service import Service
from onsale.simulated.settings import Settings
from tests.gateway.rig import EVENT, token
from tests.model.clients import Buyer, Http, Operator
from tests.model.house import VENUE, house
from tests.model.stack import Stack, stack

SECRET = "whsec_" + base64.b64encode(b"a secret of the tests, long enough").decode()
WITHIN_SECONDS = 30.0


class Till:
    """See the module."""

    def __init__(self, both: Stack, provider_port: int, data_dir: Path) -> None:
        self.both = both
        self.provider_url = f"http://127.0.0.1:{provider_port}"
        self.http = Http(both.port)
        self._port = provider_port
        self._data_dir = data_dir
        self._runner: web.AppRunner | None = None
        self.service: Service | None = None

    @property
    def notices_url(self) -> str:
        return f"http://127.0.0.1:{self.both.port}/v1/payments/notices/simulated"

    # --- the provider ---

    def open_provider(self) -> None:
        """Starts it, from what it wrote down before."""

        async def start() -> None:
            settings = Settings(self.provider_url, SECRET, (self.notices_url,), self._data_dir)
            self.service = Service(settings)
            self._runner = web.AppRunner(self.service.application())
            await self._runner.setup()
            await web.TCPSite(self._runner, "127.0.0.1", self._port).start()

        self.both.in_gateway(start())

    def close_provider(self) -> None:
        runner, self._runner = self._runner, None
        if runner is not None:
            self.both.in_gateway(runner.cleanup())

    def switch(self, **switches: object) -> dict[str, Any]:
        """POST /control."""
        return dict(self.provider("POST", "/control", switches)[1])

    def provider(self, method: str, path: str, body: object = None) -> tuple[int, Any]:
        """(status, JSON) of a call to the provider."""
        return call(method, self.provider_url + path, body)

    def pay(self, payment: dict[str, Any], *, how: str = "") -> tuple[int, Any]:
        """Go to the checkout and press the button; `how` may be `/decline`."""
        path = payment["checkout"]["url"].removeprefix(self.provider_url)
        return self.provider("POST", path + how, {})

    def all_told(self) -> None:
        """Waits until the seller has taken every notice."""
        service = self.service
        assert service is not None
        self.until(lambda: not service.book.untold)

    # --- buyers ---

    def hold(self, buyer: str = "ann", want: dict[str, Any] | None = None, request_id: str = "r1") -> str:
        """What the allocator gives."""
        said = Buyer(self.http, EVENT, buyer).request(request_id, want or {"seats": ["A-0"]}, paused=False)
        assert said[:2] == ("decision", "held"), said
        hold: str = said[2]["hold"]
        return hold

    def begin(self, hold: str, buyer: str = "ann", body: object = None) -> tuple[int, Any]:
        return self._payment("POST", hold, buyer, body)

    def begun(self, hold: str, buyer: str = "ann") -> dict[str, Any]:
        status, payment = self.begin(hold, buyer)
        assert status == 200, payment
        return dict(payment)

    def look(self, hold: str, buyer: str = "ann") -> dict[str, Any]:
        status, payment = self._payment("GET", hold, buyer)
        assert status == 200, payment
        return dict(payment)

    def until_state(self, hold: str, state: str, buyer: str = "ann") -> dict[str, Any]:
        """The payment once it is in that state."""
        self.until(lambda: self.look(hold, buyer)["state"] == state)
        return self.look(hold, buyer)

    def _payment(self, method: str, hold: str, buyer: str, body: object = None) -> tuple[int, Any]:
        url = f"http://127.0.0.1:{self.both.port}/v1/events/{EVENT}/holds/{hold}/payment"
        return call(method, url, body, {"Authorization": self.bearer(buyer)})

    @staticmethod
    def bearer(buyer: str) -> str:
        return f"Bearer {token(buyer)}"

    # --- what the provider might tell ---

    def tell(
        self,
        body: bytes,
        *,
        number: str = "msg_1",
        at: float | None = None,
        signature: str | None = None,
        provider: str = "simulated",
        stays: bool = True,
        **headers: str,
    ) -> tuple[int, Any]:
        """A notice, signed as it must be unless told. On a connection that stays it goes the short way."""
        when = datetime.fromtimestamp(time.time() if at is None else at, UTC)
        signed = Webhook(SECRET).sign(number, when, body.decode("latin-1"))
        head = {
            "webhook-id": number,
            "webhook-timestamp": str(int(when.timestamp())),
            "webhook-signature": signed if signature is None else signature,
            **headers,
        }
        if not stays:
            return call("POST", self.notices_url.replace("simulated", provider), body, head)
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", self.both.port)) as connection:
            connection.request("POST", f"/v1/payments/notices/{provider}", body, head)
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())

    def answered(self, answer: str, provider: str = "simulated") -> int:
        """How often notices were answered so, by the metrics."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.both.port}/metrics") as told:
            for line in told.read().decode().splitlines():
                start = f'onsale_gateway_notices_total{{answer="{answer}",provider="{provider}"}} '
                if line.startswith(start):
                    return int(float(line.removeprefix(start)))
        return 0

    @staticmethod
    def until(true: Callable[[], object]) -> None:
        """Waits for what must become true."""
        end = time.monotonic() + WITHIN_SECONDS
        while not true():
            assert time.monotonic() < end, "it did not become true in time"
            time.sleep(0.02)


def call(method: str, url: str, body: object = None, head: dict[str, str] | None = None) -> tuple[int, Any]:
    """(status, JSON); `body` as it is where it is bytes."""
    raw = None if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
    request = urllib.request.Request(url, raw, head or {}, method=method)
    try:
        with urllib.request.urlopen(request, timeout=WITHIN_SECONDS) as answer:
            return answer.status, json.loads(answer.read())
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.loads(error.read())


def notice_of(payment: dict[str, Any], kind: str = "payment.succeeded", **other: Any) -> bytes:
    """What the provider would tell of a payment as its buyer sees it."""
    intent = payment["checkout"]["url"].rpartition("/")[2]
    data = {"id": intent, "status": "succeeded", "amount_minor": payment["amount_minor"]}
    data |= {"currency": payment["currency"], "metadata": {"payment": payment["payment"]}, **other}
    return json.dumps({"type": kind, "data": data}).encode()


@contextlib.contextmanager
def reserved_port() -> Iterator[int]:
    """A port that nobody but who asks for this very one is given meanwhile, neither listening nor calling."""
    with socket.socket() as reserved:
        reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        reserved.bind((LOOPBACK, 0))
        yield reserved.getsockname()[1]


@contextlib.contextmanager
def till(urls: Any, data_dir: Path, **terms: Any) -> Iterator[Till]:
    """An open event where holds are paid for; `terms` are the event's."""
    with reserved_port() as port:
        settings = PaymentSettings(
            provider="simulated",
            public_url="http://shop.example",
            simulated_url=f"http://{LOOPBACK}:{port}",
            simulated_secret=SECRET,
        )
        with stack(urls, payments=settings) as both:
            yield from _selling(both, port, data_dir, terms)


def _selling(both: Stack, port: int, data_dir: Path, terms: dict[str, Any]) -> Iterator[Till]:
    both.save_venue(VENUE, house())
    till = Till(both, port, data_dir)
    with contextlib.closing(till.http):
        wish = {"slug": EVENT, "venue": VENUE, "open": True, "payment": "required", "fast_gate": False}
        status, made = Operator(till.http).ask("POST", "", wish | terms)
        assert status == 201, made
        both.allocate(EVENT)
        till.open_provider()
        try:
            yield till
        finally:
            till.close_provider()
