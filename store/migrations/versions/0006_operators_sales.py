"""What operators sell and take back, what is added to a price, and seats in other categories."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

FACT_KINDS = (
    "kind IN ('paid', 'released', 'policy', 'blocked', 'unblocked', 'extended', 'left', 'sold', 'returned')"
)


def upgrade() -> None:
    op.add_column(
        "hold",
        sa.Column(
            "kind",
            sa.Text(),
            server_default="buyer",
            nullable=False,
            comment="buyer, or how an operator sold it",
        ),
    )
    op.drop_constraint("hold_state", "hold")
    op.create_check_constraint(
        "hold_state", "hold", "state IN ('active', 'paid', 'released', 'expired', 'refunded')"
    )
    op.drop_constraint("hold_paid_when", "hold")
    op.create_check_constraint(
        "hold_paid_when", "hold", "(state IN ('paid', 'refunded')) = (paid_at IS NOT NULL)"
    )
    op.create_check_constraint("hold_kind", "hold", "kind IN ('buyer', 'complimentary', 'box_office')")
    op.create_check_constraint(
        "hold_numbered_by_kind", "hold", "(kind = 'buyer') = (hold_id < 576460752303423488)"
    )
    op.drop_constraint("fact_kind", "fact")
    op.create_check_constraint("fact_kind", "fact", FACT_KINDS)
    op.create_table(
        "event_price",
        sa.Column("event_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("fee_minor", sa.BigInteger(), nullable=False),
        sa.Column("fee_basis_points", sa.Integer(), nullable=False),
        sa.Column("tax_basis_points", sa.Integer(), nullable=False),
        sa.Column("tax_included", sa.Boolean(), nullable=False),
        sa.CheckConstraint("fee_minor BETWEEN 0 AND 1000000000", name="event_price_fee"),
        sa.CheckConstraint("fee_basis_points BETWEEN 0 AND 10000", name="event_price_fee_part"),
        sa.CheckConstraint("tax_basis_points BETWEEN 0 AND 10000", name="event_price_tax"),
        sa.PrimaryKeyConstraint("event_id"),
        comment="fees and tax of an event that has any; see store.prices",
    )
    op.create_table(
        "event_plan",
        sa.Column("event_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column(
            "plan",
            sa.Text(),
            nullable=False,
            comment="the venue's with some categories moved, as canonical JSON",
        ),
        sa.Column("plan_sha256", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("event_id"),
        comment="events whose categories are not all the venue's; settled before the sale begins",
    )
