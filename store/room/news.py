"""News of a waiting room: a poke, whoever hears it reads the room's row again. Nothing depends on it."""

from __future__ import annotations

import msgspec


def room_channel(event: str) -> str:
    return f"onsale:{{{event}}}:room"


def encode(version: int) -> bytes:
    """That the room has this version now."""
    return msgspec.json.encode({"version": version})
