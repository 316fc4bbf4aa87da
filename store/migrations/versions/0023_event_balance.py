"""What the owner found when it looked whether an event's seats and places add up."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0023"
down_revision = "0022"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "event_balance",
        sa.Column("event_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column(
            "looked_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("clock_timestamp()"),
            nullable=False,
        ),
        sa.Column(
            "findings", sa.Integer(), nullable=False, comment="rows that do not add up; 0 is as it must be"
        ),
        sa.PrimaryKeyConstraint("event_id"),
        comment="whether seats and places added up when the owner looked last",
    )
