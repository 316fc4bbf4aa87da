"""The waiting list, and how long what is offered from it is kept."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

FACT_KINDS = "kind IN ('paid', 'released', 'policy', 'blocked', 'unblocked', 'extended', 'left')"
LEDGER_KINDS = "kind IN ('request', 'fact', 'expired', 'offer')"


def upgrade() -> None:
    op.add_column("event", sa.Column("offer_ttl_seconds", sa.Integer(), server_default="600", nullable=False))
    op.create_check_constraint("event_offer_ttl", "event", "offer_ttl_seconds BETWEEN 1 AND 86400")
    op.create_table(
        "waiting",
        sa.Column("event_id", sa.Integer(), nullable=False),
        sa.Column(
            "wait_id",
            sa.BigInteger(),
            autoincrement=False,
            nullable=False,
            comment="the list's order; see WaitId",
        ),
        sa.Column("buyer", sa.Text(), nullable=False),
        sa.Column("request_id", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), server_default="waiting", nullable=False),
        sa.Column("hold_id", sa.BigInteger(), nullable=True, comment="the offer: a hold like any other"),
        sa.CheckConstraint("state IN ('waiting', 'offered', 'left')", name="waiting_state"),
        sa.CheckConstraint("(state = 'offered') = (hold_id IS NOT NULL)", name="waiting_offered_what"),
        sa.PrimaryKeyConstraint("event_id", "wait_id"),
        comment="requests on the waiting list; what they want is in the ledger at their number",
    )
    op.create_index("waiting_buyer", "waiting", ["event_id", "buyer"])
    op.create_index(
        "waiting_list",
        "waiting",
        ["event_id", "wait_id"],
        postgresql_where=sa.text("state = 'waiting'"),
    )
    op.drop_constraint("fact_kind", "fact")
    op.create_check_constraint("fact_kind", "fact", FACT_KINDS)
    op.drop_constraint("ledger_kind", "ledger")
    op.create_check_constraint("ledger_kind", "ledger", LEDGER_KINDS)
