"""Figures of a sale, events that are called off, and orders that were moved to another event."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None

NOW = sa.text("clock_timestamp()")


def _count(name: str, told: str) -> sa.Column[int]:
    return sa.Column(name, sa.Integer(), server_default="0", nullable=False, comment=told)


def _moment(name: str) -> sa.Column[object]:
    return sa.Column(name, sa.DateTime(timezone=True), server_default=NOW, nullable=False)


def upgrade() -> None:
    _figures()
    _called_off()
    _rebooked()


def _figures() -> None:
    op.create_table(
        "figures",
        sa.Column("event_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column(
            "outbox_number",
            sa.BigInteger(),
            server_default="0",
            nullable=False,
            comment="of the outbox: up to here",
        ),
        sa.Column(
            "batch_no",
            sa.BigInteger(),
            server_default="0",
            nullable=False,
            comment="of the ledger: up to here",
        ),
        sa.Column("capacity", sa.Integer(), nullable=False, comment="seats and places of the plan"),
        sa.Column("figures", sa.JSON(), nullable=False, comment="store.figures.fold.Figures"),
        _moment("changed_at"),
        sa.PrimaryKeyConstraint("event_id"),
        comment="counted from outbox and ledger; can be lost and counted anew",
        postgresql_with={"fillfactor": "50"},
    )


def _called_off() -> None:
    op.create_table(
        "called_off",
        sa.Column("event_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column(
            "to_event_id", sa.Integer(), nullable=True, comment="where its orders go; null: it is canceled"
        ),
        sa.Column("who", sa.Text(), nullable=False),
        sa.Column("why", sa.Text(), nullable=False),
        sa.Column(
            "reserved",
            sa.JSON(),
            nullable=True,
            comment="moved: what was blocked there, store.words.Blocks",
        ),
        _moment("begun_at"),
        sa.Column("done_at", sa.DateTime(timezone=True), nullable=True),
        _count("holds", "that were ended"),
        _count("waiting", "that were taken off the list"),
        _count("refunded", "orders that were taken back"),
        _count("rebooked", "orders that were moved"),
        sa.CheckConstraint("to_event_id <> event_id", name="called_off_elsewhere"),
        sa.CheckConstraint("(to_event_id IS NULL) = (reserved IS NULL)", name="called_off_reserved"),
        sa.PrimaryKeyConstraint("event_id"),
        comment="how far each is; whoever is killed, the next goes on",
    )
    op.create_index(
        "called_off_running", "called_off", ["event_id"], postgresql_where=sa.text("done_at IS NULL")
    )


def _rebooked() -> None:
    op.create_table(
        "rebooked",
        sa.Column("event_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("order_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("to_event_id", sa.Integer(), nullable=False),
        sa.Column("to_order_id", sa.BigInteger(), nullable=False),
        sa.Column(
            "payment_id",
            sa.BigInteger(),
            nullable=True,
            comment="it went with the order; null: nobody paid",
        ),
        sa.Column("amount_minor", sa.BigInteger(), nullable=False, comment="of it, what was not refunded"),
        sa.Column("areas", sa.JSON(), nullable=False, comment="places it has there: (area number, places)"),
        _moment("at"),
        sa.PrimaryKeyConstraint("event_id", "order_id"),
        comment="orders that were moved to another event, once each",
    )
    op.create_index("rebooked_to", "rebooked", ["to_event_id", "to_order_id"], unique=True)
