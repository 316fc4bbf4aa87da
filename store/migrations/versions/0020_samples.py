"""The console: how each event stood over time, and how far its buyers came."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSON

revision = "0020"
down_revision = "0019"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "event_sample",
        sa.Column("event_id", sa.Integer(), primary_key=True, autoincrement=False),
        sa.Column("at", sa.DateTime(timezone=True), primary_key=True),
        sa.Column("seconds", sa.SmallInteger(), nullable=False, comment="that the row stands for"),
        sa.Column("arrived_per_second", sa.Float()),
        sa.Column("decided_per_second", sa.Float()),
        sa.Column("undecided", sa.BigInteger()),
        sa.Column("latency_ms_p50", sa.Float()),
        sa.Column("latency_ms_p99", sa.Float()),
        sa.Column("sold", sa.Integer()),
        sa.Column("on_hold", sa.Integer()),
        sa.Column("revenue_minor", sa.BigInteger()),
        sa.Column("waiting", sa.BigInteger()),
        sa.Column("admitted", sa.BigInteger()),
        sa.Column("inside", sa.BigInteger()),
        sa.Column("workers", sa.Integer()),
        sa.CheckConstraint("seconds > 0", name="event_sample_for"),
        comment="how each event stood, over time; see store.console.samples",
    )
    op.create_index(
        "event_sample_young",
        "event_sample",
        ["event_id", "at"],
        postgresql_where=sa.text("seconds < 60"),
    )
    op.create_table(
        "event_tally",
        sa.Column("event_id", sa.Integer(), primary_key=True, autoincrement=False),
        sa.Column(
            "batch_no",
            sa.BigInteger(),
            nullable=False,
            server_default="0",
            comment="of the ledger: up to here",
        ),
        sa.Column("outcomes", JSON(), nullable=False, comment="of requests: how many were answered so"),
        sa.Column("asked", sa.BigInteger(), nullable=False, server_default="0", comment="buyers who asked"),
        sa.Column(
            "held",
            sa.BigInteger(),
            nullable=False,
            server_default="0",
            comment="buyers who were given something",
        ),
        sa.Column("began", sa.BigInteger(), comment="places that began to shop, at began_at"),
        sa.Column("began_at", sa.DateTime(timezone=True)),
        sa.Column(
            "changed_at",
            sa.DateTime(timezone=True),
            nullable=False,
            server_default=sa.text("clock_timestamp()"),
        ),
        comment="how far buyers came; counted from the ledger, and can be counted anew",
        postgresql_with={"fillfactor": "50"},
    )
