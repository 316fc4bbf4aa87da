"""What operators sell and take back."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0004"
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
