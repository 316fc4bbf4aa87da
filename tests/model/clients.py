"""Buyers and the operator as programs outside see them: HTTP on a kept connection, websockets, JSON.

What is answered is put into the words of `tests.model.reference`.
"""

from __future__ import annotations

import contextlib
import http.client
import itertools
import json
from collections.abc import Iterator
from typing import Any

from websockets.sync.client import ClientConnection, connect

from tests.gateway.rig import token
from tests.model.reference import Answer, Want
from tests.model.stack import OPERATOR_KEY

WITHIN_SECONDS = 30.0
WAIT_MS = 10_000
NEWS = frozenset({"event", "hold", "offer", "waiting", "left"})
_fences = itertools.count()


class Http:
    """One kept connection."""

    def __init__(self, port: int) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=3 * WITHIN_SECONDS)
        self._connection.connect()

    def ask(
        self, method: str, path: str, body: object = None, headers: dict[str, str] | None = None
    ) -> tuple[int, Any]:
        """(status, JSON body); a 5xx is a failure whatever was asked."""
        raw = None if body is None else json.dumps(body)
        self._connection.request(method, path, raw, headers or {})
        answer = self._connection.getresponse()
        text = answer.read()
        assert answer.status < 500, (method, path, answer.status, text)
        return answer.status, json.loads(text)

    def close(self) -> None:
        self._connection.close()


class Operator:
    def __init__(self, http: Http) -> None:
        self._http = http

    def ask(self, method: str, path: str, body: object = None) -> tuple[int, Any]:
        head = {"Authorization": f"Bearer {OPERATOR_KEY}"}
        return self._http.ask(method, f"/v1/operator/events{path}", body, head)


class Socket:
    """One websocket of a buyer."""

    def __init__(self, connection: ClientConnection, event: str, buyer: str, *, watch: bool = False) -> None:
        self._connection = connection
        self.send({"type": "hello", "event": event, "token": token(buyer), "watch": watch})
        self.welcome = self.receive()
        assert self.welcome["type"] == "welcome", self.welcome
        assert self.welcome["buyer"] == buyer

    def send(self, frame: object) -> None:
        self._connection.send(json.dumps(frame))

    def receive(self, *, also: str = "") -> Any:
        """The next frame but for news of the event's state, of holds and of the waiting list, which may come
        at any time; `also` names a kind of these that is waited for."""
        while True:
            frame = json.loads(self._connection.recv(timeout=WITHIN_SECONDS))
            if frame["type"] == also or frame["type"] not in NEWS:
                return frame

    def request(self, request_id: str, want: Want, *, again: bool, paused: bool) -> Answer:
        """What became of a request. While paused nothing need come: a question behind it tells when not."""
        frame = {"type": "request", "id": request_id, **want}
        self.send(frame | ({"again": True} if again else {}))
        fence = f"fence-{next(_fences)}"
        if paused:
            self.send({"type": "resume", "ids": [fence]})
        answer: Answer = ("undecided",)
        while True:
            frame = self.receive()
            if frame["type"] == "unknown" and frame["id"] == fence:
                return answer
            if frame["type"] == "accepted":
                continue
            assert frame.get("id") == request_id, f"{frame} came, {request_id} was asked for"
            answer = said(frame)
            if not paused:
                return answer

    def decided(self, request_id: str) -> Answer:
        """The next decision, which is this one's."""
        frame = self.receive()
        while frame["type"] == "accepted":
            frame = self.receive()
        assert frame["id"] == request_id, f"{frame} came, {request_id} waits"
        return said(frame)

    def look(self, request_id: str) -> Answer:
        """Ask what became of a request."""
        self.send({"type": "resume", "ids": [request_id]})
        frame = self.receive()
        assert frame["id"] == request_id, frame
        return said(frame)

    def change(self, word: str, hold_id: str, body: dict[str, Any] | None = None) -> Answer:
        """`release`, `confirm` or `extend`; `body` is what it says besides."""
        self._heard_all()
        self.send({"type": word, "hold": hold_id, **(body or {})})
        frame = self.receive(also="hold")
        while frame["type"] == "accepted" or _is_news(frame):
            frame = self.receive(also="hold")
        assert frame["hold"] == hold_id, frame
        return changed(frame) if frame["type"] == "hold" else ("error", frame["code"])

    def leave(self, request_id: str) -> Answer:
        """The waiting list."""
        self._heard_all()
        self.send({"type": "leave", "id": request_id})
        frame = self.receive(also="left")
        assert frame["id"] == request_id, frame
        return ("left", request_id) if frame["type"] == "left" else ("error", frame["code"])

    def _heard_all(self) -> None:
        """What the buyer did elsewhere is told before a question of now is answered."""
        fence = f"fence-{next(_fences)}"
        self.send({"type": "resume", "ids": [fence]})
        while self.receive().get("id") != fence:
            pass


def _is_news(frame: dict[str, Any]) -> bool:
    """Of a hold that ends soon or is there instead of another: no answer to what was done with it."""
    return frame.get("state") == "active" and "extensions_left" not in frame


@contextlib.contextmanager
def socket(port: int, event: str, buyer: str, *, watch: bool = False) -> Iterator[Socket]:
    """A websocket that was greeted."""
    # without a bound on frames that nobody reads, or closing would wait for a client that stopped reading
    with connect(
        f"ws://127.0.0.1:{port}/v1/socket",
        compression=None,
        max_size=None,
        max_queue=None,
        ping_interval=None,
    ) as connection:
        yield Socket(connection, event, buyer, watch=watch)


def said(frame: dict[str, Any]) -> Answer:
    """A frame in the model's words."""
    match frame["type"]:
        case "decision":
            return ("decision", frame["outcome"], frame["result"])
        case "not_queued":
            return ("not_queued", sorted(frame.get("taken", ())))
        case "accepted":
            return ("undecided",)
        case "unknown":
            return ("error", "unknown_request")
        case "error":
            return ("error", frame["code"])
    raise AssertionError(f"no frame for a buyer: {frame}")


def changed(hold: dict[str, Any]) -> Answer:
    """A hold after it was changed: its state, and of one that lives on what else is told."""
    if hold["state"] != "active":
        return ("hold", hold["state"])
    told = ("hold", "active", hold["expires_at"], hold["extensions_left"])
    return (*told, sorted(hold["seats"]), hold["areas"]) if "seats" in hold else told


class Buyer:
    """A buyer's HTTP calls for one event."""

    def __init__(self, http: Http, event: str, buyer: str) -> None:
        self._http = http
        self._path = f"/v1/events/{event}"
        self._head = {"Authorization": f"Bearer {token(buyer)}"}

    def request(self, request_id: str, want: Want, *, paused: bool) -> Answer:
        head = self._head | {"Idempotency-Key": request_id}
        status, body = self._http.ask("POST", f"{self._path}/requests", want, head)
        if status == 202:
            return self.look(request_id, wait_ms=0 if paused else WAIT_MS)
        if body["code"] == "not_queued":
            return ("not_queued", sorted(body.get("taken", ())))
        return ("error", body["code"])

    def look(self, request_id: str, *, wait_ms: int = 0) -> Answer:
        path = f"{self._path}/requests/{request_id}?wait_ms={wait_ms}"
        status, body = self._http.ask("GET", path, headers=self._head)
        if status == 202:
            return ("undecided",)
        return said(body) if status == 200 else ("error", body["code"])

    def change(self, word: str, hold_id: str, body: object = None) -> Answer:
        status, answer = self._http.ask("POST", f"{self._path}/holds/{hold_id}/{word}", body, self._head)
        return changed(answer) if status == 200 else ("error", answer["code"])

    def leave(self, request_id: str) -> Answer:
        path = f"{self._path}/waiting/{request_id}/leave"
        status, body = self._http.ask("POST", path, headers=self._head)
        return ("left", body["id"]) if status == 200 else ("error", body["code"])

    def entries(self) -> list[tuple[str, str, Any]]:
        """(request id, state, place or offer) of what the buyer has on the waiting list."""
        _, body = self._http.ask("GET", f"{self._path}/waiting", headers=self._head)
        return [
            (entry["id"], entry["state"], entry.get("position", entry.get("offer")))
            for entry in body["waiting"]
        ]

    def seats(self) -> tuple[str, list[int]]:
        _, body = self._http.ask("GET", f"{self._path}/seats")
        return body["states"], body["areas"]

    def event(self) -> dict[str, Any]:
        _, body = self._http.ask("GET", self._path)
        assert isinstance(body, dict)
        return body

    def plan(self) -> dict[str, Any]:
        _, body = self._http.ask("GET", f"{self._path}/plan")
        assert isinstance(body, dict)
        return body
