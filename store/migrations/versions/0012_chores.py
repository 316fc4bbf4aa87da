"""Chores: when each ran, which mails are to be sent, what was asked how often."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None

NOW = sa.text("clock_timestamp()")


def _moment(name: str, *, now: bool = False, nullable: bool = False) -> sa.Column[object]:
    return sa.Column(name, sa.DateTime(timezone=True), server_default=NOW if now else None, nullable=nullable)


def upgrade() -> None:
    op.create_table(
        "chore_run",
        sa.Column("chore", sa.Text(), nullable=False),
        sa.Column("every_seconds", sa.Integer(), nullable=False),
        sa.Column("long", sa.Boolean(), nullable=False, comment="runs until it is stopped"),
        _moment("enlisted_at", now=True),
        _moment("due_at", now=True),
        _moment("started_at", nullable=True),
        _moment("ended_at", nullable=True),
        _moment("alive_at", nullable=True),
        sa.Column("worker", sa.Text(), nullable=True, comment="who began it last"),
        sa.Column("runs", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("duration_ms", sa.Integer(), nullable=True),
        sa.Column("done", sa.BigInteger(), nullable=True, comment="how much the last run did"),
        sa.Column("failures", sa.Integer(), server_default="0", nullable=False, comment="in a row"),
        sa.Column("last_error", sa.Text(), nullable=True),
        _moment("failed_at", nullable=True),
        sa.Column(
            "position",
            sa.BigInteger(),
            server_default="0",
            nullable=False,
            comment="where the next run goes on",
        ),
        sa.PrimaryKeyConstraint("chore"),
        comment="one row a chore: when it is due, and how its last run went",
    )
    op.create_table(
        "payment_try",
        sa.Column("payment_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("what", sa.Text(), nullable=False),
        sa.Column("tries", sa.SmallInteger(), server_default="1", nullable=False),
        _moment("next_at"),
        sa.PrimaryKeyConstraint("payment_id", "what"),
        sa.CheckConstraint("what IN ('look', 'last', 'ask')", name="payment_try_what"),
        comment="how often a provider was asked about a payment, or the stream for its seats, and when next",
    )
    op.create_table(
        "mail_position",
        sa.Column("event_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("event_id"),
        comment="how far an event's outbox has been turned into mails",
    )
    _mail()


def _mail() -> None:
    op.create_table(
        "mail",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("event_id", sa.Integer(), nullable=False),
        sa.Column("outbox_id", sa.BigInteger(), nullable=False),
        sa.Column("address", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("body", sa.JSON(), nullable=False, comment="of the outbox row"),
        sa.Column("state", sa.Text(), server_default="due", nullable=False),
        sa.Column("attempts", sa.SmallInteger(), server_default="0", nullable=False),
        sa.Column("last_error", sa.Text(), nullable=True),
        _moment("next_at", now=True),
        _moment("created_at", now=True),
        _moment("ended_at", nullable=True),
        sa.PrimaryKeyConstraint("id"),
        sa.CheckConstraint("state IN ('due', 'sent', 'given_up')", name="mail_state"),
        sa.CheckConstraint("(state = 'due') = (ended_at IS NULL)", name="mail_ended_when"),
        comment="what buyers are told by mail",
    )
    op.create_index("mail_once", "mail", ["outbox_id", "address"], unique=True)
    op.create_index("mail_due", "mail", ["next_at"], postgresql_where=sa.text("state = 'due'"))
    op.create_index("mail_ended", "mail", ["ended_at"], postgresql_where=sa.text("state <> 'due'"))
