"""The ids of messages: the outbox's row, whoever is told it and however often."""

from __future__ import annotations

from typing import Final

from store.errors import NotFound

TEST: Final = "webhook.test"
"""The kind of a message that an operator sends to try a subscriber; it is sent once."""


def message_id(outbox_id: int) -> str:
    """A message's id, the same however often it is sent."""
    return f"msg_{outbox_id}"


def message_number(message: str) -> int:
    """The outbox's id of a message; raises `NotFound` (unknown_message)."""
    number = message.removeprefix("msg_")
    if not (message.startswith("msg_") and number.isascii() and number.isdigit() and len(number) < 19):
        raise NotFound("unknown_message", f"{message!r} is no message's id; ids are like msg_123.")
    return int(number)
