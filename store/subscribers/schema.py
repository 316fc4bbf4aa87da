"""Tables of subscribers and what is delivered to them.

How far each was told is a row for each subscriber and event: `subscriber_position`, leased to one relay at a
time. What could not be delivered and no longer holds the next back is in `delivery`, with its own copy of
what is sent: it does not need the outbox's row.
"""

from __future__ import annotations

from sqlalchemy import (
    JSON,
    BigInteger,
    CheckConstraint,
    Column,
    Identity,
    Index,
    Integer,
    SmallInteger,
    Table,
    Text,
    Uuid,
    text,
)
from sqlalchemy.dialects.postgresql import ARRAY

from store.schema import metadata, one_of, timestamp

subscriber = Table(
    "subscriber",
    metadata,
    Column("id", Integer, Identity(always=True), primary_key=True),
    Column("url", Text, nullable=False),
    Column("event_id", Integer, nullable=True, comment="null: every event"),
    Column("kinds", ARRAY(Text), nullable=False, server_default=text("'{}'"), comment="none: every kind"),
    Column("state", Text, nullable=False, server_default="active"),
    Column("disabled_why", Text, nullable=True),
    Column("secret", Text, nullable=False, comment="whsec_…: signs what it is sent"),
    Column("previous_secret", Text, nullable=True, comment="signs too, until previous_until"),
    timestamp("previous_until", nullable=True),
    timestamp("created_at", now=True),
    timestamp("delivered_at", nullable=True),
    CheckConstraint(one_of("state", "active", "disabled"), name="subscriber_state"),
    CheckConstraint("(state = 'disabled') = (disabled_why IS NOT NULL)", name="subscriber_disabled_why"),
    CheckConstraint("(previous_secret IS NULL) = (previous_until IS NULL)", name="subscriber_previous"),
)

subscriber_position = Table(
    "subscriber_position",
    metadata,
    Column("subscriber_id", Integer, primary_key=True, autoincrement=False),
    Column("event_id", Integer, primary_key=True, autoincrement=False),
    Column("number", BigInteger, nullable=False, comment="of the outbox: up to here everything is done with"),
    Column("tries", SmallInteger, nullable=False, server_default="0", comment="of the message after it"),
    timestamp("next_at", now=True),
    Column("lease", Uuid, nullable=True, comment="of the relay that sends now; random per claim"),
    timestamp("leased_until", nullable=True),
    CheckConstraint("(lease IS NULL) = (leased_until IS NULL)", name="subscriber_position_lease"),
    comment="how far a subscriber was told an event's outbox, in its order",
    postgresql_with={"fillfactor": "50"},
)

delivery = Table(
    "delivery",
    metadata,
    Column("subscriber_id", Integer, primary_key=True, autoincrement=False),
    Column("outbox_id", BigInteger, primary_key=True, autoincrement=False),
    Column("event_id", Integer, nullable=True, comment="null: a test message"),
    Column("kind", Text, nullable=False),
    Column("payload", Text, nullable=False, comment="as it is sent, to the byte"),
    Column("state", Text, nullable=False, server_default="waiting"),
    Column("attempts", SmallInteger, nullable=False),
    timestamp("first_at", now=True),
    timestamp("next_at", now=True),
    Column("status", SmallInteger, nullable=True, comment="that the last attempt was answered with"),
    Column("error", Text, nullable=True),
    CheckConstraint(one_of("state", "waiting", "dead"), name="delivery_state"),
    CheckConstraint("attempts >= 0", name="delivery_attempts"),
    comment="messages set aside: tried again later, or dead letters",
)
Index("delivery_due", delivery.c.next_at, postgresql_where=delivery.c.state == "waiting")

delivery_log = Table(
    "delivery_log",
    metadata,
    Column("id", BigInteger, Identity(always=True), primary_key=True),
    Column("subscriber_id", Integer, nullable=False),
    Column("message", Text, nullable=False, comment="as in webhook-id"),
    Column("event_id", Integer, nullable=True),
    Column("kind", Text, nullable=False),
    timestamp("at", now=True),
    Column("attempt", SmallInteger, nullable=False),
    Column("outcome", Text, nullable=False),
    Column("status", SmallInteger, nullable=True),
    Column("error", Text, nullable=True),
    Column("took_ms", Integer, nullable=False),
    CheckConstraint(
        one_of("outcome", "delivered", "failed", "set_aside", "dead"), name="delivery_log_outcome"
    ),
    comment="the last attempts of each subscriber; see store.subscribers.trim",
)
Index("delivery_log_subscriber", delivery_log.c.subscriber_id, delivery_log.c.id)

subscriber_audit = Table(
    "subscriber_audit",
    metadata,
    Column("id", BigInteger, Identity(always=True), primary_key=True),
    Column("subscriber_id", Integer, nullable=False),
    timestamp("at", now=True),
    Column("who", Text, nullable=False, comment="the operator's name"),
    Column("why", Text, nullable=False),
    Column("what", JSON, nullable=False),
    CheckConstraint("char_length(who) BETWEEN 1 AND 100", name="subscriber_audit_who"),
    CheckConstraint("char_length(why) BETWEEN 1 AND 200", name="subscriber_audit_why"),
    comment="append-only (a trigger refuses anything else), in the transaction of each operator's change",
)
Index("subscriber_audit_subscriber", subscriber_audit.c.subscriber_id, subscriber_audit.c.id)
