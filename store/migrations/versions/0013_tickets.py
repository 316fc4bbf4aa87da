"""Tickets: what is remembered of them, and whether buyers may return and give them away."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None

NO = sa.text("false")


def upgrade() -> None:
    op.add_column(
        "event",
        sa.Column("returns_allowed", sa.Boolean(), server_default=NO, nullable=False, comment="by buyers"),
    )
    op.add_column(
        "event",
        sa.Column("transfers_allowed", sa.Boolean(), server_default=NO, nullable=False, comment="of tickets"),
    )
    seat, place = (
        "-1: a numbered seat",
        "the seat's in the plan, or the place's among the order's of this area",
    )
    older, code = "tokens of a lower one are worthless", "of the last offer to give it to somebody"
    op.create_table(
        "ticket",
        sa.Column("event_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("order_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("area_no", sa.Integer(), autoincrement=False, nullable=False, comment=seat),
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False, comment=f"{place}, from 1"),
        sa.Column("serial", sa.Integer(), server_default="1", nullable=False, comment=older),
        sa.Column("holder", sa.Text(), nullable=True, comment="who has it, if not the order's buyer"),
        sa.Column("offer_code", sa.Text(), nullable=True, comment=code),
        sa.Column(
            "offered", sa.Boolean(), server_default=NO, nullable=False, comment="who has the code may claim"
        ),
        sa.Column(
            "gone", sa.Boolean(), server_default=NO, nullable=False, comment="the order has it no longer"
        ),
        sa.Column("checked_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("checked_by", sa.Text(), nullable=True, comment="the device that let its holder in"),
        sa.CheckConstraint("serial >= 1", name="ticket_serial"),
        sa.CheckConstraint("area_no >= -1 AND number >= 0", name="ticket_item"),
        sa.CheckConstraint(
            "NOT offered OR (offer_code IS NOT NULL AND NOT gone)", name="ticket_offered_by_code"
        ),
        sa.CheckConstraint("(checked_at IS NULL) = (checked_by IS NULL)", name="ticket_checked_by"),
        sa.PrimaryKeyConstraint("event_id", "order_id", "area_no", "number"),
        comment="what is remembered of a ticket beyond its order; no row: the first, its buyer's, not used",
    )
    there = sa.text("offer_code IS NOT NULL")
    op.create_index("ticket_offer", "ticket", ["offer_code"], unique=True, postgresql_where=there)
    there = sa.text("holder IS NOT NULL")
    op.create_index("ticket_holder", "ticket", ["event_id", "holder"], postgresql_where=there)
    orders = sa.text("state IN ('paid', 'refunded')")
    op.create_index("hold_order", "hold", ["event_id", "buyer"], postgresql_where=orders)
