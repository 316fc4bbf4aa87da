"""What Redis carries of a waiting room: a poke when its row is another now. Nothing depends on it."""

from __future__ import annotations

import msgspec


def room_channel(slug: str) -> str:
    """Where pokes are published."""
    return f"onsale:{{{slug}}}:room"


def encode(version: int) -> bytes:
    """A poke: read the room's row again, it is at least of this version."""
    return msgspec.json.encode({"version": version})
