"""What buyers are told by mail, as a message, and the two ways to send it; its words are `notifier.letters`.

`message` makes of them a mail in plain text and simple HTML, whose Message-ID is the same however often it is
sent, so that a repeat can be told as one.
"""

from __future__ import annotations

import hashlib
import html
import os
import re
import smtplib
import ssl
from datetime import datetime
from email.errors import MessageError
from email.message import EmailMessage
from email.policy import SMTP
from pathlib import Path
from typing import Final, Protocol
from urllib.parse import unquote, urlsplit

from notifier.letters import Letter
from store.errors import OnsaleError, Unavailable

SMTP_SECONDS_MAX: Final = 10.0
ADDRESS_LENGTH_MAX: Final = 254
"""RFC 5321, 4.5.3.1.3"""


class NeverSent(OnsaleError):
    """This mail can never be sent: its address is none, or nobody has it."""


class Carrier(Protocol):
    """Whoever takes a mail over."""

    def send(self, message: EmailMessage, sender: str, to: str) -> None:
        """Raises `NeverSent`, or `Unavailable` for one that should be tried again."""

    def close(self) -> None:
        """Its connection ends."""


def message_id(number: int | str, address: str, sender: str) -> str:
    """The same for the same mail; `number` is its outbox row's. It says nothing of the address."""
    digest = hashlib.sha256(f"{number}\n{address}".encode()).hexdigest()[:24]
    return f"<{number}.{digest}@{sender.rpartition('@')[2].strip('> ') or 'localhost'}>"


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
