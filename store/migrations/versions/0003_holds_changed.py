"""Holds that are extended: how often and by how much an organiser allows, and how often each was."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

FACT_KINDS = "kind IN ('paid', 'released', 'policy', 'blocked', 'unblocked', 'extended')"


def upgrade() -> None:
    op.add_column("event", sa.Column("extensions_max", sa.Integer(), server_default="1", nullable=False))
    op.add_column("event", sa.Column("extension_seconds", sa.Integer(), server_default="120", nullable=False))
    op.create_check_constraint("event_extensions", "event", "extensions_max BETWEEN 0 AND 20")
    op.create_check_constraint("event_extension_seconds", "event", "extension_seconds BETWEEN 1 AND 3600")
    op.add_column(
        "hold",
        sa.Column(
            "extensions",
            sa.SmallInteger(),
            server_default="0",
            nullable=False,
            comment="how often its holder extended it",
        ),
    )
    op.create_check_constraint("hold_extensions", "hold", "extensions >= 0")
    op.drop_constraint("fact_kind", "fact")
    op.create_check_constraint("fact_kind", "fact", FACT_KINDS)
