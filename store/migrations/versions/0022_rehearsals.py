"""Rehearsals that operators asked for."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0022"
down_revision = "0021"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "rehearsal",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("event_id", sa.Integer(), nullable=False),
        sa.Column("buyers", sa.Integer(), nullable=False),
        sa.Column("sized_for", sa.Integer(), nullable=False, comment="buyers the sizing is for"),
        sa.Column("who", sa.Text(), nullable=False),
        sa.Column("why", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), server_default="queued", nullable=False),
        sa.Column(
            "asked_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("clock_timestamp()"),
            nullable=False,
        ),
        sa.Column("began_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("alive_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("phase", sa.Text(), server_default="", nullable=False, comment="what happens, in words"),
        sa.Column("done", sa.Integer(), server_default="0", nullable=False),
        sa.Column("total", sa.Integer(), server_default="0", nullable=False),
        sa.Column("result", postgresql.JSONB(astext_type=sa.Text()), nullable=True),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("beside_a_sale", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.CheckConstraint("state IN ('queued', 'running', 'done', 'failed')", name="rehearsal_state"),
        sa.PrimaryKeyConstraint("id"),
        comment="a stampede against a copy of an event, and its sizing; one at a time",
    )
    op.create_index("rehearsal_event", "rehearsal", ["event_id", "id"], unique=False)
    op.create_index(
        "rehearsal_one",
        "rehearsal",
        [sa.text("(true)")],
        unique=True,
        postgresql_where=sa.text("state IN ('queued', 'running')"),
    )
