"""What forgotten rows of the outbox came to; when events take place, and whether pages tell figures."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None

NO = sa.text("false")


def upgrade() -> None:
    op.create_table(
        "figures_kept",
        sa.Column("event_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column(
            "outbox_number",
            sa.BigInteger(),
            nullable=False,
            comment="up to here rows are forgotten",
        ),
        sa.Column(
            "figures", sa.JSON(), nullable=False, comment="what they came to; store.figures.fold.Figures"
        ),
        sa.PrimaryKeyConstraint("event_id"),
        comment="cannot be counted anew: its rows are gone",
    )
    told = "its page says how much is sold"
    op.add_column("event", sa.Column("starts_at", sa.DateTime(timezone=True), nullable=True))
    op.add_column(
        "event", sa.Column("figures_on_page", sa.Boolean(), server_default=NO, nullable=False, comment=told)
    )
