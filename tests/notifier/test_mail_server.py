"""Mails handed to a mail server: what it refuses for good, what is tried again, and what is told to it."""

from __future__ import annotations

import socketserver
import threading
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from notifier import mail as letters
from notifier.letters import Letter
from notifier.mail import NeverSent, Smtp
from store.errors import Unavailable

NOW = datetime(2026, 5, 1, 12, 30, tzinfo=UTC)
SENDER, ANN = "shop@example.org", "ann@example.org"


class Post(socketserver.ThreadingTCPServer):
    """A mail server that says what it is told to, by the first word it hears; `data` answers a whole mail."""

    allow_reuse_address = daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Talk)
        self.answers = {
            "banner": "220 hello", "ehlo": "250 here", "helo": "250 here", "mail": "250 ok", "rcpt": "250 ok",
            "data": "250 taken", "auth": "235 welcome", "rset": "250 ok", "quit": "221 bye",
        }  # fmt: skip
        self.heard: list[str] = []

    @property
    def at(self) -> str:
        return f"127.0.0.1:{self.server_address[1]}"


class Talk(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        server = self.server
        assert isinstance(server, Post)
        self.say(server.answers["banner"])
        while line := self.rfile.readline().decode().strip():
            server.heard.append(line)
            word = line.split()[0].lower()
            if word == "data":
                self.say("354 go on")
                while self.rfile.readline() not in (b".\r\n", b""):
                    pass
            self.say(server.answers[word])

    def say(self, line: str) -> None:
        self.wfile.write(f"{line}\r\n".encode())


@pytest.fixture
def post() -> Iterator[Post]:
    with Post() as server:
        serving = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        serving.start()
        yield server
        server.shutdown()
        serving.join()


def mail_to(address: str = ANN):
    return letters.message(Letter("Subject", ("line",)), SENDER, address, "<1@x>", NOW)


def hand_over(server: Smtp, address: str = ANN) -> None:
    try:
        server.send(mail_to(address), SENDER, address)
    finally:
        server.close()


def test_a_mail_is_handed_over_with_the_moment_it_was_made(post):
    assert str(mail_to()["Date"]) == "Fri, 01 May 2026 12:30:00 +0000"
    hand_over(Smtp(f"smtp://{post.at}"))
    assert [line.split()[0].lower() for line in post.heard] == ["ehlo", "mail", "rcpt", "data"]


@pytest.mark.parametrize(
    ("word", "answer", "error"),
    [
        ("rcpt", "550 5.1.1 nobody of that name", NeverSent),
        ("data", "554 5.7.1 not such a mail", NeverSent),
        ("rcpt", "450 4.2.1 come again", Unavailable),
        ("data", "451 4.3.0 come again", Unavailable),
        ("mail", "452 4.3.1 disk full", Unavailable),
        ("mail", "553 5.7.1 not your sender", Unavailable),
        ("mail", "550 5.7.1 not your sender", Unavailable),
        ("banner", "554 nobody may come in", Unavailable),
        ("ehlo", "550 go away", Unavailable),
        ("auth", "535 5.7.8 wrong password", Unavailable),
        ("auth", "554 5.7.0 not from there", Unavailable),
    ],
)
def test_only_what_is_about_the_mail_itself_is_for_good(post, word, answer, error):
    """A server that refuses whoever asks, or the sender, refuses every mail: none is given up for that."""
    post.answers[word] = answer
    if word == "ehlo":
        post.answers["helo"] = answer
    if word == "auth":
        post.answers["ehlo"] = "250-here\r\n250 AUTH PLAIN"
    with pytest.raises(error):
        hand_over(Smtp(f"smtp://shop:secret@{post.at}" if word == "auth" else f"smtp://{post.at}"))


def test_a_password_is_told_to_nobody_in_the_clear(post, monkeypatch):
    post.answers["ehlo"] = "250-here\r\n250 AUTH PLAIN"
    hand_over(Smtp(f"smtp://shop:secret@{post.at}"))
    assert any(line.startswith("AUTH") for line in post.heard), "on this machine it is"
    post.heard.clear()
    monkeypatch.setattr(letters, "_HERE", ())
    with pytest.raises(Unavailable, match="STARTTLS"):
        hand_over(Smtp(f"smtp://shop:secret@{post.at}"))
    assert not any("AUTH" in line for line in post.heard)


def test_an_address_with_letters_that_a_server_does_not_take_is_never_written_to_again(post):
    with pytest.raises(NeverSent):
        hand_over(Smtp(f"smtp://{post.at}"), "änn@example.org")


@pytest.mark.parametrize("answer", ["550 <ann@example.org> is unknown", "450 <Ann@Example.org>: greylisted"])
def test_no_address_is_in_what_is_told_of_a_failure(post, answer):
    """It is logged, and shown to operators."""
    post.answers["rcpt"] = answer
    with pytest.raises((NeverSent, Unavailable)) as told:
        hand_over(Smtp(f"smtp://{post.at}"))
    assert answer.split()[0] in str(told.value)
    assert "@" not in str(told.value)


@pytest.mark.parametrize(
    "address",
    ["ann@example.org,bob@example.org", "Ann<ann@example.org>", "a,b@example.org", "<ann@example.org>"],
)
def test_what_a_header_would_read_as_something_else_is_no_address(address):
    with pytest.raises(NeverSent):
        mail_to(address)
