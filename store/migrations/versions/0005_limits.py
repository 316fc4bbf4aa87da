"""Limits per category, and tours: events that share a limit per buyer."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column(
        "event",
        sa.Column(
            "limits",
            postgresql.JSONB(),
            server_default=sa.text("'{}'"),
            nullable=False,
            comment="category name: most seats and places of it a buyer may have",
        ),
    )
    op.add_column(
        "event",
        sa.Column(
            "tour_id",
            sa.Integer(),
            nullable=True,
            comment="the tour it is a date of; set while it is a draft",
        ),
    )
    op.create_check_constraint("event_limits", "event", "jsonb_typeof(limits) = 'object'")
    op.create_index("event_tour", "event", ["tour_id"], postgresql_where=sa.text("tour_id IS NOT NULL"))
    op.create_table(
        "tour",
        sa.Column("id", sa.Integer(), sa.Identity(always=True), nullable=False),
        sa.Column("slug", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column(
            "seats_per_buyer_max",
            sa.Integer(),
            nullable=False,
            comment="across all its events; never changed",
        ),
        sa.Column(
            "created_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("clock_timestamp()"),
            nullable=False,
        ),
        sa.CheckConstraint("seats_per_buyer_max BETWEEN 1 AND 1000", name="tour_seats_per_buyer"),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("slug"),
        comment="dates of one show that share a limit per buyer",
    )
    op.create_table(
        "tour_buyer",
        sa.Column("tour_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("buyer", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("tour_id", "buyer"),
        comment="a row to lock for each buyer a batch of one of the tour's events decides about",
    )
    op.add_column(
        "hold",
        sa.Column("tour_id", sa.Integer(), nullable=True, comment="the event's tour, if it is a date of one"),
    )
    op.create_index(
        "hold_tour", "hold", ["tour_id", "buyer"], postgresql_where=sa.text("tour_id IS NOT NULL")
    )
