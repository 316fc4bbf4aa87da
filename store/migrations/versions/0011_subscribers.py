"""Subscribers, how far each was told, and what could not be delivered yet."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import ARRAY

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None

NOW = sa.text("clock_timestamp()")
APPEND_ONLY_TRIGGER = """
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON subscriber_audit
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()
"""


def _moment(name: str, *, now: bool = False) -> sa.Column[object]:
    return sa.Column(name, sa.DateTime(timezone=True), server_default=NOW if now else None, nullable=not now)


def upgrade() -> None:
    _subscriber()
    _position()
    _delivery()
    _log()
    op.create_table(
        "subscriber_audit",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), primary_key=True),
        sa.Column("subscriber_id", sa.Integer(), nullable=False),
        _moment("at", now=True),
        sa.Column("who", sa.Text(), nullable=False, comment="the operator's name"),
        sa.Column("why", sa.Text(), nullable=False),
        sa.Column("what", sa.JSON(), nullable=False),
        sa.CheckConstraint("char_length(who) BETWEEN 1 AND 100", name="subscriber_audit_who"),
        sa.CheckConstraint("char_length(why) BETWEEN 1 AND 200", name="subscriber_audit_why"),
        comment="append-only (a trigger refuses anything else), in the transaction of each operator's change",
    )
    op.create_index("subscriber_audit_subscriber", "subscriber_audit", ["subscriber_id", "id"])
    op.execute(APPEND_ONLY_TRIGGER)


def _subscriber() -> None:
    empty, active = sa.text("'{}'"), "active"
    op.create_table(
        "subscriber",
        sa.Column("id", sa.Integer(), sa.Identity(always=True), primary_key=True),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("event_id", sa.Integer(), nullable=True, comment="null: every event"),
        sa.Column(
            "kinds", ARRAY(sa.Text()), nullable=False, server_default=empty, comment="none: every kind"
        ),
        sa.Column("state", sa.Text(), nullable=False, server_default=active),
        sa.Column("disabled_why", sa.Text(), nullable=True),
        sa.Column("secret", sa.Text(), nullable=False, comment="whsec_…: signs what it is sent"),
        sa.Column("previous_secret", sa.Text(), nullable=True, comment="signs too, until previous_until"),
        _moment("previous_until"),
        _moment("created_at", now=True),
        _moment("delivered_at"),
        sa.CheckConstraint("state IN ('active', 'disabled')", name="subscriber_state"),
        sa.CheckConstraint(
            "(state = 'disabled') = (disabled_why IS NOT NULL)", name="subscriber_disabled_why"
        ),
        sa.CheckConstraint(
            "(previous_secret IS NULL) = (previous_until IS NULL)", name="subscriber_previous"
        ),
    )


def _position() -> None:
    op.create_table(
        "subscriber_position",
        sa.Column("subscriber_id", sa.Integer(), primary_key=True, autoincrement=False),
        sa.Column("event_id", sa.Integer(), primary_key=True, autoincrement=False),
        sa.Column(
            "number",
            sa.BigInteger(),
            nullable=False,
            comment="of the outbox: up to here everything is done with",
        ),
        sa.Column(
            "tries",
            sa.SmallInteger(),
            nullable=False,
            server_default="0",
            comment="of the message after it",
        ),
        _moment("next_at", now=True),
        sa.Column("lease", sa.Uuid(), nullable=True, comment="of the relay that sends now; random per claim"),
        _moment("leased_until"),
        sa.CheckConstraint("(lease IS NULL) = (leased_until IS NULL)", name="subscriber_position_lease"),
        comment="how far a subscriber was told an event's outbox, in its order",
        postgresql_with={"fillfactor": "50"},
    )


def _delivery() -> None:
    op.create_table(
        "delivery",
        sa.Column("subscriber_id", sa.Integer(), primary_key=True, autoincrement=False),
        sa.Column("outbox_id", sa.BigInteger(), primary_key=True, autoincrement=False),
        sa.Column("event_id", sa.Integer(), nullable=True, comment="null: a test message"),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("payload", sa.Text(), nullable=False, comment="as it is sent, to the byte"),
        sa.Column("state", sa.Text(), nullable=False, server_default="waiting"),
        sa.Column("attempts", sa.SmallInteger(), nullable=False),
        _moment("first_at", now=True),
        _moment("next_at", now=True),
        sa.Column(
            "status",
            sa.SmallInteger(),
            nullable=True,
            comment="that the last attempt was answered with",
        ),
        sa.Column("error", sa.Text(), nullable=True),
        sa.CheckConstraint("state IN ('waiting', 'dead')", name="delivery_state"),
        sa.CheckConstraint("attempts >= 0", name="delivery_attempts"),
        comment="messages set aside: tried again later, or dead letters",
    )
    op.create_index("delivery_due", "delivery", ["next_at"], postgresql_where=sa.text("state = 'waiting'"))


def _log() -> None:
    op.create_table(
        "delivery_log",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), primary_key=True),
        sa.Column("subscriber_id", sa.Integer(), nullable=False),
        sa.Column("message", sa.Text(), nullable=False, comment="as in webhook-id"),
        sa.Column("event_id", sa.Integer(), nullable=True),
        sa.Column("kind", sa.Text(), nullable=False),
        _moment("at", now=True),
        sa.Column("attempt", sa.SmallInteger(), nullable=False),
        sa.Column("outcome", sa.Text(), nullable=False),
        sa.Column("status", sa.SmallInteger(), nullable=True),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("took_ms", sa.Integer(), nullable=False),
        sa.CheckConstraint(
            "outcome IN ('delivered', 'failed', 'set_aside', 'dead')", name="delivery_log_outcome"
        ),
        comment="the last attempts of each subscriber; see store.subscribers.trim",
    )
    op.create_index("delivery_log_subscriber", "delivery_log", ["subscriber_id", "id"])
