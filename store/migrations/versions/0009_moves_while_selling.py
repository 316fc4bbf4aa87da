"""Categories are moved while the event sells: an event's plan has versions, and a move is a fact."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None

FACT_KINDS = (
    "kind IN ('paid', 'released', 'policy', 'blocked', 'unblocked', 'extended', 'left', 'sold', 'returned',"
    " 'outage', 'recategorised')"
)


def upgrade() -> None:
    op.drop_constraint("fact_kind", "fact")
    op.create_check_constraint("fact_kind", "fact", FACT_KINDS)
    op.add_column(
        "event_plan",
        sa.Column(
            "version",
            sa.Integer(),
            server_default="0",
            nullable=False,
            comment="0: settled before the sale; each move while it runs makes the next",
        ),
    )
    op.add_column(
        "event_plan",
        sa.Column(
            "ledger_at",
            sa.BigInteger(),
            nullable=True,
            comment="batch_no << 16 | position of its fact: holds above it were given by this plan",
        ),
    )
    op.add_column(
        "event_plan",
        sa.Column(
            "moved", sa.JSON(), nullable=True, comment="seats and areas by number, with the category they had"
        ),
    )
    op.drop_constraint("event_plan_pkey", "event_plan")
    op.create_primary_key("event_plan_pkey", "event_plan", ["event_id", "version"])
    op.create_check_constraint("event_plan_moved", "event_plan", "(version = 0) = (moved IS NULL)")
    op.create_check_constraint("event_plan_versions", "event_plan", "version BETWEEN 0 AND 100")
    op.create_table_comment("event_plan", "plans of events whose categories are not all the venue's")
