"""Tables of the chores. Nothing that sells reads them: without their rows every chore begins anew.

A mail is written down once for each row of the outbox and address: `mail_once`.
"""

from __future__ import annotations

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Identity,
    Index,
    Integer,
    SmallInteger,
    Table,
    Text,
    text,
)

from store.schema import metadata, one_of, timestamp

chore_run = Table(
    "chore_run",
    metadata,
    Column("chore", Text, primary_key=True),
    Column("every_seconds", Integer, nullable=False),
    Column("long", Boolean, nullable=False, comment="runs until it is stopped"),
    timestamp("enlisted_at", now=True),
    timestamp("due_at", now=True),
    timestamp("started_at", nullable=True),
    timestamp("ended_at", nullable=True),
    timestamp("alive_at", nullable=True),
    Column("worker", Text, nullable=True, comment="who began it last"),
    Column("runs", BigInteger, nullable=False, server_default="0"),
    Column("duration_ms", Integer, nullable=True),
    Column("done", BigInteger, nullable=True, comment="how much the last run did"),
    Column("failures", Integer, nullable=False, server_default="0", comment="in a row"),
    Column("last_error", Text, nullable=True),
    timestamp("failed_at", nullable=True),
    Column("position", BigInteger, nullable=False, server_default="0", comment="where the next run goes on"),
    comment="one row a chore: when it is due, and how its last run went",
)

payment_try = Table(
    "payment_try",
    metadata,
    Column("payment_id", BigInteger, primary_key=True, autoincrement=False),
    Column("what", Text, primary_key=True),
    Column("tries", SmallInteger, nullable=False, server_default="1"),
    timestamp("next_at"),
    CheckConstraint(one_of("what", "look", "last", "ask"), name="payment_try_what"),
    comment="how often a provider was asked about a payment, or the stream for its seats, and when next",
)

mail_position = Table(
    "mail_position",
    metadata,
    Column("event_id", Integer, primary_key=True, autoincrement=False),
    Column("number", BigInteger, nullable=False),
    comment="how far an event's outbox has been turned into mails",
)

mail = Table(
    "mail",
    metadata,
    Column("id", BigInteger, Identity(always=True), primary_key=True),
    Column("event_id", Integer, nullable=False),
    Column("outbox_id", BigInteger, nullable=True, comment="null: of no row there; see store.mail.Alone"),
    Column("address", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("body", JSON, nullable=False, comment="of the outbox row"),
    Column("state", Text, nullable=False, server_default="due"),
    Column("attempts", SmallInteger, nullable=False, server_default="0"),
    Column("last_error", Text, nullable=True),
    timestamp("next_at", now=True),
    timestamp("created_at", now=True),
    timestamp("ended_at", nullable=True),
    CheckConstraint(one_of("state", "due", "sent", "given_up"), name="mail_state"),
    CheckConstraint("(state = 'due') = (ended_at IS NULL)", name="mail_ended_when"),
    comment="what buyers are told by mail",
)
Index("mail_once", mail.c.outbox_id, mail.c.address, unique=True)
Index("mail_due", mail.c.next_at, postgresql_where=text("state = 'due'"))
Index("mail_ended", mail.c.ended_at, postgresql_where=text("state <> 'due'"))
