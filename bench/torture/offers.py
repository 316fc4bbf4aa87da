"""What one device hears of the waiting list: kept as evidence, and each offer handed on once."""

from __future__ import annotations

from collections import deque
from typing import Any

from bench.evidence import Seen, read_json
from bench.torture.buyer import Offer


class Offers:
    """Of one device. `new` are the offers that nobody has looked at yet."""

    def __init__(self, seen: Seen) -> None:
        self.new: deque[Offer] = deque()
        self._seen = seen
        self._known: set[str] = set()

    def offered(self, frame: bytes) -> None:
        """An `offer` frame came."""
        self._seen.offers.append(frame)
        offer = read_json(frame)
        self._take(offer["id"], offer["result"])

    def looked(self, frame: bytes) -> None:
        """A `waiting` frame came, or the same body over HTTP; it may tell of an offer first."""
        if frame not in self._seen.waiting[-1:]:
            self._seen.waiting.append(frame)
        for entry in read_json(frame)["waiting"]:
            if entry["state"] == "offered" and entry.get("offer"):
                self._take(entry["id"], entry["offer"])

    def _take(self, request_id: str, result: dict[str, Any]) -> None:
        if result["hold"] not in self._known:
            self._known.add(result["hold"])
            self.new.append(Offer(request_id, result))
