"""How every process writes its log: text for people, or with `ONSALE_LOG=json` one JSON object a line.

An object has `ts` (UTC), `level`, `logger`, `process` (its name: `gateway-1`, `worker`), `pid` and `message`;
`event` where the line is about one, and `request`, the client's own id of a request, where it is about that;
`error` and `trace` of an exception. Nothing else: what a call did not mean to say is not said.

No line has personal data or secrets. Calls leave out buyers, mail addresses, tokens and keys. What an
exception of somebody else's brings along (a row that Postgres quotes, a recipient that a mail server refuses,
an address with its password) is taken out here (`scrubbed`), in both forms.
"""

from __future__ import annotations

import ipaddress
import json
import logging
import os
import re
import sys
import threading
from collections.abc import Mapping
from contextvars import ContextVar
from datetime import UTC, datetime
from types import TracebackType
from typing import Final

FORMS: Final = ("text", "json")
TEXT: Final = "%(asctime)s %(levelname)s %(name)s %(message)s"
MESSAGE_LENGTH_MAX: Final = 4_000
TRACE_LENGTH_MAX: Final = 16_000
"""Of a trace its end is kept: there is what happened."""

_event: ContextVar[str] = ContextVar("event", default="")

_QUOTED_ROWS: Final = re.compile(r"(?m)^\s*(?:DETAIL|CONTEXT|QUERY|STATEMENT):.*$\n?")
"""What Postgres adds to an error: rows, keys and lines of COPY."""
_MAIL: Final = re.compile(r"[\w.+%'-]+@[\w-]+(?:\.[\w-]+)+")
_JWT: Final = re.compile(r"\beyJ[\w-]+\.[\w-]+(?:\.[\w-]*)?")
_PASSWORD: Final = re.compile(r"(\w+://)[^\s/@]*@")
_NAMED: Final = re.compile(
    r"(?i)\b(bearer|access_token|token|password|secret|authorization|key)([\"']?\s*[=:]\s*[\"']?|\s+)"
    r"([\w.~+/=-]{16,})"
)
_PROVIDERS: Final = re.compile(r"\b(?:[sr]k_(?:live|test)_|whsec_)[\w+/=-]+")
_IPV4: Final = re.compile(r"(?<![\d.])(?:\d{1,3}\.){3}\d{1,3}(?![\d.])")
_IPV6: Final = re.compile(r"(?<![\w:.])(?:[0-9a-fA-F]{0,4}:){2,7}[0-9a-fA-F]{0,4}(?![\w:.])")


def begin(process: str, environ: Mapping[str, str] | None = None) -> None:
    """Write this process's log to standard error from now on, uncaught exceptions and warnings included.

    `process` is its name unless `ONSALE_PROCESS` gives one. Where `ONSALE_LOG` is neither form, it ends.
    """
    source = os.environ if environ is None else environ
    form = source.get("ONSALE_LOG") or "text"
    if form not in FORMS:
        raise SystemExit(f"ONSALE_LOG is {form!r}; it must be {' or '.join(FORMS)}.")
    handler = logging.StreamHandler()
    handler.setFormatter(Objects(source.get("ONSALE_PROCESS") or process) if form == "json" else Lines(TEXT))
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
    logging.captureWarnings(True)
    sys.excepthook = _uncaught
    threading.excepthook = lambda failed: _uncaught(
        failed.exc_type, failed.exc_value or failed.exc_type(), failed.exc_traceback
    )


def about(event: str) -> None:
    """What this thread or task, and those it begins, log from now on is about this event."""
    _event.set(event)


def scrubbed(text: str) -> str:
    """`text` without what looks like personal data or a secret; addresses of networks of one's own stay."""
    text = _QUOTED_ROWS.sub("", text)
    text = _PASSWORD.sub(r"\1[secret]@", text)
    text = _JWT.sub("[token]", text)
    text = _PROVIDERS.sub("[secret]", text)
    text = _NAMED.sub(r"\1\2[secret]", text)
    text = _MAIL.sub("[mail address]", text)
    text = _IPV4.sub(_unless_ours, text)
    return _IPV6.sub(_unless_ours, text)


def _unless_ours(found: re.Match[str]) -> str:
    try:
        return "[address]" if ipaddress.ip_address(found[0]).is_global else found[0]
    except ValueError:
        return found[0]


class Lines(logging.Formatter):
    """For people."""

    def format(self, record: logging.LogRecord) -> str:
        return scrubbed(super().format(record)).rstrip("\n")


class Objects(logging.Formatter):
    """For programs: an object a line."""

    def __init__(self, process: str) -> None:
        super().__init__()
        self._process = process

    def format(self, record: logging.LogRecord) -> str:
        told: dict[str, object] = {
            "ts": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "process": self._process,
            "pid": record.process,
            "message": scrubbed(record.getMessage())[:MESSAGE_LENGTH_MAX].strip(),
        }
        event = getattr(record, "event", "") or _event.get()
        request = getattr(record, "request", "")
        told |= {name: value for name, value in (("event", event), ("request", request)) if value}
        if record.exc_info and record.exc_info[0] is not None:
            told["error"] = record.exc_info[0].__name__
            told["trace"] = scrubbed(self.formatException(record.exc_info))[-TRACE_LENGTH_MAX:]
        return json.dumps(told, ensure_ascii=False)


def _uncaught(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    if issubclass(kind, KeyboardInterrupt):
        sys.__excepthook__(kind, error, trace)
        return
    logging.getLogger("onsale").critical(
        "it ended by an error nobody expected", exc_info=(kind, error, trace)
    )
