"""Calls that carry an Idempotency-Key are answered once, and the answer is kept."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "idempotency_key",
        sa.Column(
            "scope", sa.LargeBinary(), nullable=False, comment="sha256 of who asks, method, path and key"
        ),
        sa.Column("buyer", sa.Text(), nullable=True, comment="whose key it is; null: an operator's"),
        sa.Column("fingerprint", sa.LargeBinary(), nullable=False, comment="sha256 of what was asked"),
        sa.Column(
            "owner", sa.BigInteger(), nullable=False, comment="random; the attempt that may write the answer"
        ),
        sa.Column("lease_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("status", sa.SmallInteger(), nullable=True, comment="null: under way"),
        sa.Column("head", sa.Text(), nullable=True, comment="JSON: [[name, value], ...]"),
        sa.Column("body", sa.LargeBinary(), nullable=True),
        sa.Column(
            "made_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("clock_timestamp()"),
            nullable=False,
        ),
        sa.CheckConstraint("(status IS NULL) = (lease_until IS NOT NULL)", name="idempotency_key_under_way"),
        sa.CheckConstraint(
            "(status IS NULL) = (body IS NULL) AND (status IS NULL) = (head IS NULL)",
            name="idempotency_key_answered",
        ),
        sa.CheckConstraint("octet_length(body) <= 262144", name="idempotency_key_bounded"),
        sa.PrimaryKeyConstraint("scope"),
        comment="calls that carried an Idempotency-Key, and what they were answered",
    )
    op.create_index("idempotency_key_made", "idempotency_key", ["made_at"])
    op.create_index(
        "idempotency_key_buyer",
        "idempotency_key",
        ["buyer"],
        postgresql_where=sa.text("buyer IS NOT NULL"),
    )
