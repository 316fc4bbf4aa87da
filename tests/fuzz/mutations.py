"""Valid things, damaged: bytes flipped, cut, doubled and mixed with what has broken readers before."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

NASTY = (
    b"", b"\x00", b"\xff", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xc0\x80", b"\x7f", b"\n", b"\r\n",
    b"\\ud800", b"\\u0000", b"\\udfff\\ud800", b'"', b"\\", b"{", b"}", b"]", b",", b":", b"[" * 3_000,
    b'{"a":' * 2_000, b"null", b"true", b"NaN", b"Infinity", b"-0", b"1e999", b"-1e999", b"9" * 400, b"1.5",
    b"9223372036854775808", b"-9223372036854775809", b"0x10", b"x" * 5_000, b"<script>", b"'; --", b"%s",
    b"%00", b"../", b"0-0", "\u202e".encode(), "\ufeff".encode(), "e\u0301".encode(), "\u2028".encode(),
    "\U0001f3ad".encode(),
)  # fmt: skip
NASTY_VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 1.5, 2**31, 2**53, 2**63, 2**64, -(2**63) - 1, 10**400, 1e308, "", " ", "\x00",
    "a\x00b", "\ud800", "x" * 65, "x" * 5_000, "\u202e", "1", "0", "null", "\n", [], {}, [[]], [None],
    {"a": None}, ["a", "a"],
)  # fmt: skip


@st.composite
def damaged(draw: st.DrawFn, examples: Sequence[bytes]) -> bytes:
    """One of the examples after one to four accidents; sometimes none."""
    raw = draw(st.sampled_from(list(examples)))
    for _ in range(draw(st.integers(0, 4))):
        at = draw(st.integers(0, len(raw)))
        to = min(len(raw), at + draw(st.integers(0, 12)))
        accident = draw(st.sampled_from(("flip", "cut", "put", "instead", "twice", "end")))
        if accident == "flip" and at < len(raw):
            raw = raw[:at] + bytes([raw[at] ^ draw(st.integers(1, 255))]) + raw[at + 1 :]
        elif accident == "cut":
            raw = raw[:at] + raw[to:]
        elif accident == "put":
            raw = raw[:at] + draw(st.sampled_from(NASTY)) + raw[at:]
        elif accident == "instead":
            raw = raw[:at] + draw(st.sampled_from(NASTY)) + raw[to:]
        elif accident == "twice":
            raw = raw[:to] + raw[at:to] + raw[to:]
        elif accident == "end":
            raw = raw[:at]
    return raw


@st.composite
def disturbed(draw: st.DrawFn, examples: Sequence[Any]) -> Any:
    """One of the JSON examples with one to three of its values replaced, removed, doubled or renamed."""
    value = json.loads(json.dumps(draw(st.sampled_from(list(examples)))))
    for _ in range(draw(st.integers(1, 3))):
        value = _disturb(draw, value)
    return value


def _disturb(draw: st.DrawFn, value: Any) -> Any:
    if isinstance(value, dict) and value and draw(st.integers(0, 5)):
        name = draw(st.sampled_from(sorted(value)))
        match draw(st.sampled_from(("in", "in", "in", "remove", "rename", "add"))):
            case "in":
                return value | {name: _disturb(draw, value[name])}
            case "remove":
                return {other: kept for other, kept in value.items() if other != name}
            case "rename":
                return {(other if other != name else name + "\x00"): kept for other, kept in value.items()}
            case _:
                return value | {draw(st.sampled_from(("", "x", "\x00", "type"))): draw(nasty)}
    if isinstance(value, list) and value and draw(st.integers(0, 5)):
        at = draw(st.integers(0, len(value) - 1))
        match draw(st.sampled_from(("in", "in", "in", "remove", "twice", "many"))):
            case "in":
                return [*value[:at], _disturb(draw, value[at]), *value[at + 1 :]]
            case "remove":
                return [*value[:at], *value[at + 1 :]]
            case "twice":
                return [*value[:at], value[at], *value[at:]]
            case _:
                return value[:at] + [value[at]] * 120 + value[at:]
    return draw(nasty)


nasty = st.sampled_from(NASTY_VALUES)
