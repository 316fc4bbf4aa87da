"""Buyers are told by mail: rows of the outbox become mails once each, and mails are sent until they are gone.

Sending is at least once: who is killed after the mail server took one sends it again, under the same
Message-ID. One that cannot be sent stops nobody behind it.
"""

from __future__ import annotations

import asyncio
from typing import Any, Final

import msgspec

from notifier import mail as letters
from notifier.letters import About, letter
from notifier.mail import Carrier, FileSink, NeverSent, Smtp
from onsale.chores.doing import Doing
from onsale.chores.settings import ChoreSettings
from store import mail as rows
from store.jitter import jitter
from store.mail import Mail

STRETCH: Final = (0.8, 1.2)
"""Pauses are this much shorter or longer, so that those who failed together do not come back together."""
_decode = msgspec.json.Decoder(dict[str, Any]).decode


async def mail(doing: Doing, carrier: Carrier | None = None) -> int:
    """How many mails were sent."""
    await _write_down(doing)
    carrier = carrier or carrier_of(doing.settings)
    done = 0
    try:
        while not doing.is_over():
            taken = await rows.take(doing.connection)
            for place, one in enumerate(taken):
                if doing.is_over():
                    await rows.put_back(doing.connection, taken[place:])
                    break
                done += await doing.trying(f"mail {one.id}", _send(doing, carrier, one))
            if len(taken) < rows.TAKE_MAX:
                break
    finally:
        carrier.close()
    return done


def carrier_of(settings: ChoreSettings) -> Carrier:
    """The mail server that is set, else a folder of files."""
    return Smtp(settings.smtp_url) if settings.smtp_url else FileSink(settings.mail_dir)


async def _write_down(doing: Doing) -> None:
    """Make mails of what the outboxes say that was not read yet; an event that fails stops no other."""
    for event in await rows.unread(doing.connection):
        while not doing.is_over():
            written = rows.write_down(doing.connection, event)
            if await doing.trying(f"mails of event {event}", written) < rows.READ_MAX:
                break


async def _send(doing: Doing, carrier: Carrier, one: Mail) -> bool:
    sender = doing.settings.mail_from
    page = f"{doing.settings.public_url}/e/{one.slug}"
    about = About(one.event_name, page, one.venue, one.starts_at, doing.settings.time_zone)
    says = letter(one.kind, _decode(one.body), about)
    assert says is not None, f"rows of kind {one.kind} are not written down as mails"
    number = f"mail-{one.id}" if one.outbox_id is None else one.outbox_id
    identity = letters.message_id(number, one.address, sender)
    try:
        message = letters.message(says, sender, one.address, identity, one.created_at)
        await asyncio.to_thread(carrier.send, message, sender, one.address)
    except NeverSent as error:
        await rows.not_sent(doing.connection, one, str(error), stretch=1.0, never=True)
        return False
    except Exception as error:
        await rows.not_sent(doing.connection, one, str(error), stretch=jitter(*STRETCH))
        raise
    await rows.sent(doing.connection, one.id)
    return True
