"""What buyers are told by mail, in words and as a message, and the two ways to send it.

`letter` is pure: plain words for each kind of outbox row. `message` makes of them a mail in plain text and
simple HTML, whose Message-ID is the same however often it is sent, so that a repeat can be told as one.
"""

from __future__ import annotations

import hashlib
import html
import os
import re
import smtplib
import ssl
from collections.abc import Mapping
from datetime import datetime
from email.errors import MessageError
from email.message import EmailMessage
from email.policy import SMTP
from pathlib import Path
from typing import Any, Final, Protocol
from urllib.parse import unquote, urlsplit

from msgspec import Struct

from store.errors import OnsaleError, Unavailable
from store.outbox import Told

SMTP_SECONDS_MAX: Final = 10.0
ADDRESS_LENGTH_MAX: Final = 254
"""RFC 5321, 4.5.3.1.3"""
_DECIMALS: Final = {0: "BIF CLP DJF GNF JPY KMF KRW MGA PYG RWF UGX VND VUV XAF XOF XPF",
                    3: "BHD IQD JOD KWD LYD OMR TND"}  # fmt: skip
"""ISO 4217: currencies whose smallest unit is no hundredth."""
_DECIMALS_OF: Final = {code: digits for digits, codes in _DECIMALS.items() for code in codes.split()}


class NeverSent(OnsaleError):
    """This mail can never be sent: its address is none, or nobody has it."""


class Letter(Struct, frozen=True):
    """What a mail says; `link` is where there is more."""

    subject: str
    lines: tuple[str, ...]
    link: str | None = None
    link_says: str = ""


class Carrier(Protocol):
    """Whoever takes a mail over."""

    def send(self, message: EmailMessage, sender: str, to: str) -> None:
        """Raises `NeverSent`, or `Unavailable` for one that should be tried again."""

    def close(self) -> None:
        """Its connection ends."""


def money(amount_minor: int, currency: str) -> str:
    """An amount as people read it: 1234, EUR → 12.34 EUR."""
    digits = _DECIMALS_OF.get(currency, 2)
    whole, rest = divmod(amount_minor, 10**digits)
    return f"{whole:,}{f'.{rest:0{digits}}' if digits else ''} {currency}"


def letter(kind: Told, body: Mapping[str, Any], event: str, event_url: str) -> Letter | None:
    """What the buyer is told of an outbox row, or None where it is not told by mail. `event` is its name."""
    amount = money(body["amount_minor"], body["currency"]) if "amount_minor" in body else ""
    tickets = f"{event_url}/tickets/{body['order']}" if body.get("order") else None
    match kind:
        case Told.ORDER_PAID:
            paid = f"We received {amount}. Thank you." if amount else "Thank you."
            lines = (
                "Your order is confirmed: the places are yours.",
                paid,
                f"Your order number: {body['order']}",
            )
            return Letter(f"Your tickets for {event}", lines, tickets, "See your tickets")
        case Told.PAYMENT_LATE:
            return Letter(
                f"Your payment for {event} came late",
                (
                    f"Your payment of {amount} arrived after your hold had run out.",
                    "We are asking for the same places again for you. You need not do anything.",
                    "If they can be had, your tickets follow. If not, all of your money goes back to you.",
                ),
            )
        case Told.PAYMENT_REFUND_DUE:
            return Letter(
                f"Your money for {event} goes back to you",
                (
                    _WHY.get(str(body.get("reason")), "We could not give you the places you paid for."),
                    f"We are sorry. All of it, {amount}, goes back to where it came from.",
                    "You need not do anything. We write again as soon as it is on its way.",
                ),
            )
        case Told.PAYMENT_REFUNDED:
            return Letter(
                f"Your refund for {event} is on its way",
                (
                    f"{amount} went back to where the payment came from.",
                    "Until you see it, your bank may take some days.",
                ),
            )
        case Told.ORDER_CHANGED | Told.ORDER_REFUNDED:
            return _taken_back(kind, event, tickets)
        case Told.EVENT_CANCELED:
            return Letter(
                f"{event} is canceled",
                (
                    "We are sorry: this event does not take place, and your tickets are no longer valid.",
                    "What you paid goes back to you. You need not do anything.",
                ),
                event_url,
                "More about it",
            )
        case Told.EVENT_MOVED:
            moved = "This event was moved. Please look at what changed before you set out."
            return Letter(f"{event} was moved", (moved,), event_url, "See what changed")
        case _:
            return None


_WHY: Final = {
    "late": "Your payment arrived after your hold had run out, and somebody else may have the places now.",
    "seats_gone": "Your payment arrived after your hold had run out, and the places were given to others.",
    "hold_released": "You had given these places back before your payment arrived.",
    "hold_changed": "You had given some of these places back before your payment arrived.",
    "paid_twice": "These places were paid for twice.",
}


def _taken_back(kind: Told, event: str, tickets: str | None) -> Letter:
    back = "What you paid for it goes back to you; we write again as soon as it is on its way."
    if kind is Told.ORDER_REFUNDED:
        lines = ("Your order was taken back, and its tickets are no longer valid.", back)
        return Letter(f"Your order for {event} was taken back", lines)
    lines = ("Some of your order was taken back. The other tickets are valid as before.", back)
    return Letter(f"Your order for {event} has changed", lines, tickets, "See your tickets")


def message_id(outbox_id: int, address: str, sender: str) -> str:
    """The same for the same mail, and it says nothing of the address."""
    digest = hashlib.sha256(f"{outbox_id}\n{address}".encode()).hexdigest()[:24]
    return f"<{outbox_id}.{digest}@{sender.rpartition('@')[2].strip('> ') or 'localhost'}>"


def message(says: Letter, sender: str, to: str, identity: str, made_at: datetime) -> EmailMessage:
    """The mail; `identity` is its Message-ID. Raises `NeverSent` for an address that is none."""
    local, at, host = to.rpartition("@")
    if not (local and at and host) or len(to) > ADDRESS_LENGTH_MAX or " " in to:
        raise NeverSent("The address is none.")
    mail = EmailMessage(policy=SMTP)
    try:
        mail["From"], mail["To"], mail["Subject"] = sender, to, says.subject
    except (ValueError, MessageError, IndexError) as error:
        raise NeverSent(f"The mail has a header that cannot be: {error}") from error
    if [(one.username, one.domain) for one in mail["To"].addresses] != [(local, host)]:
        raise NeverSent("The address is none, or several.")
    mail["Date"] = made_at
    mail["Message-ID"] = identity
    mail["Auto-Submitted"] = "auto-generated"
    more = [f"{says.link_says}: {says.link}"] if says.link else []
    mail.set_content("\n\n".join([*says.lines, *more]) + "\n")
    mail.add_alternative(_html(says), subtype="html")
    return mail


def _html(says: Letter) -> str:
    paragraphs = "".join([f"<p>{html.escape(line)}</p>" for line in says.lines])
    if says.link:
        paragraphs += f'<p><a href="{html.escape(says.link)}">{html.escape(says.link_says)}</a></p>'
    style = "font-family:sans-serif;max-width:36em"
    return f'<!doctype html><html><body style="{style}">{paragraphs}</body></html>\n'


class FileSink:
    """Puts each mail into a folder, one file each; the same mail again is the same file."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def send(self, message: EmailMessage, sender: str, to: str) -> None:
        name = hashlib.sha256(str(message["Message-ID"]).encode()).hexdigest()[:32]
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            begun = self._folder / f".{name}.{os.getpid()}"
            begun.write_bytes(message.as_bytes())
            begun.replace(self._folder / f"{name}.eml")
        except OSError as error:
            raise Unavailable(f"The mail cannot be written to {self._folder}: {error}") from error

    def close(self) -> None:
        """Nothing is open."""


_HERE: Final = ("localhost", "127.0.0.1", "::1")


def _said(told: object) -> str:
    """What a mail server said, without the addresses in it: it is logged and shown."""
    text = told.decode(errors="replace") if isinstance(told, bytes) else str(told)
    return re.sub(r"\S*@\S*", "…", text)


class Smtp:
    """Hands mails to a mail server: smtp://user:password@host:587 (STARTTLS where it is offered), smtps://…

    A password is told to nobody in the clear, but on this machine."""

    def __init__(self, url: str) -> None:
        self._at = urlsplit(url)
        self._server: smtplib.SMTP | None = None

    def send(self, message: EmailMessage, sender: str, to: str) -> None:
        try:
            if self._server is None:
                self._server = self._connect()
        except (smtplib.SMTPException, OSError) as error:
            raise Unavailable(f"The mail server does not answer: {_said(error)}") from error
        try:
            self._server.send_message(message, sender, [to])
        except smtplib.SMTPRecipientsRefused as error:
            code, told = next(iter(error.recipients.values()))
            self._refused(code, told)
        except smtplib.SMTPDataError as error:
            self._refused(error.smtp_code, error.smtp_error)
        except smtplib.SMTPNotSupportedError as error:
            raise NeverSent("The mail server takes no address with such letters.") from error
        except (smtplib.SMTPException, OSError) as error:
            self.close()
            raise Unavailable(f"The mail server does not take it now: {_said(error)}") from error

    def _refused(self, code: int, told: bytes | str) -> None:
        """5xx of a mail or of whom it is for is for good. All else is tried again: whoever refuses us or our
        sender refuses every mail there is."""
        self.close()
        said = f"{code} {_said(told)}"
        if code in (550, 551, 552, 553, 554):
            raise NeverSent(f"The mail server refuses it: {said}")
        raise Unavailable(f"The mail server does not take it now: {said}")

    def _connect(self) -> smtplib.SMTP:
        host, secure = self._at.hostname or "localhost", self._at.scheme == "smtps"
        context = ssl.create_default_context()
        if secure:
            server: smtplib.SMTP = smtplib.SMTP_SSL(
                host, self._at.port or 465, timeout=SMTP_SECONDS_MAX, context=context
            )
        else:
            server = smtplib.SMTP(host, self._at.port or 25, timeout=SMTP_SECONDS_MAX)
        try:
            server.ehlo_or_helo_if_needed()
            if not secure and server.has_extn("starttls"):
                server.starttls(context=context)
                secure = True
            if self._at.username:
                if not (secure or host in _HERE):
                    raise Unavailable("The mail server offers no STARTTLS for the password: use smtps://…")
                server.login(unquote(self._at.username), unquote(self._at.password or ""))
        except BaseException:
            server.close()
            raise
        return server

    def close(self) -> None:
        if self._server is not None:
            self._server.close()
            self._server = None
