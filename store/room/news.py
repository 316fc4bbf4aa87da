"""News of a waiting room: on one channel, best effort. What it is about is read from Postgres."""

from __future__ import annotations

import msgspec
from msgspec import Struct


class RoomNews(Struct, frozen=True, omit_defaults=True):
    """Something is another: the room's row, or places of these buyers."""

    version: int = 0
    buyers: tuple[str, ...] = ()
    """Who joined, began or left at `gateway`: their places are to be read again, the row need not be."""
    gateway: str = ""


def room_channel(event: str) -> str:
    """Where an event's news are published."""
    return f"onsale:{{{event}}}:room"


def encode(version: int) -> bytes:
    """The room's row is to be read again."""
    return msgspec.json.encode(RoomNews(version))


encode_room_news = msgspec.json.Encoder().encode
decode_room_news = msgspec.json.Decoder(RoomNews).decode
