"""Operators: keys with roles, the console's sessions, and an audit of what is no event's."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import ARRAY

revision = "0019"
down_revision = "0018"
branch_labels = None
depends_on = None

NOW = sa.text("clock_timestamp()")


def _moment(name: str, *, now: bool = False, nullable: bool = False) -> sa.Column[object]:
    default = NOW if now else None
    return sa.Column(name, sa.DateTime(timezone=True), server_default=default, nullable=nullable)


def upgrade() -> None:
    _key()
    _session()
    op.alter_column("audit", "event_id", nullable=True, comment="null: about no event")


def _key() -> None:
    op.create_table(
        "operator_key",
        sa.Column("id", sa.Integer(), sa.Identity(always=True), primary_key=True),
        sa.Column("name", sa.Text(), nullable=False, comment="who acts with it, in audit"),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column(
            "event_ids", ARRAY(sa.Integer()), nullable=True, comment="the only events it is for; null: all"
        ),
        sa.Column("digest", sa.LargeBinary(), nullable=False, comment="SHA-256 of its secret"),
        sa.Column(
            "previous_digest", sa.LargeBinary(), nullable=True, comment="counts too, until previous_until"
        ),
        _moment("previous_until", nullable=True),
        _moment("created_at", now=True),
        sa.Column("created_by", sa.Text(), nullable=False),
        _moment("expires_at", nullable=True),
        _moment("rotated_at", nullable=True),
        _moment("revoked_at", nullable=True),
        sa.Column("revoked_by", sa.Text(), nullable=True),
        _moment("last_used_at", nullable=True),
        sa.CheckConstraint("role IN ('viewer', 'operator', 'owner')", name="operator_key_role"),
        sa.CheckConstraint("char_length(name) BETWEEN 1 AND 40", name="operator_key_name_length"),
        sa.CheckConstraint("cardinality(event_ids) > 0", name="operator_key_scope"),
        sa.CheckConstraint(
            "(previous_digest IS NULL) = (previous_until IS NULL)", name="operator_key_previous"
        ),
        sa.CheckConstraint("(revoked_at IS NULL) = (revoked_by IS NULL)", name="operator_key_revoked"),
        comment="who may operate; rows stay when a key is revoked",
    )
    op.create_index(
        "operator_key_name",
        "operator_key",
        [sa.text("lower(name)")],
        unique=True,
        postgresql_where=sa.text("revoked_at IS NULL"),
    )


def _session() -> None:
    op.create_table(
        "operator_session",
        sa.Column("digest", sa.LargeBinary(), primary_key=True, comment="SHA-256 of its cookie"),
        sa.Column("key_id", sa.Integer(), nullable=True, comment="null: the environment's key"),
        sa.Column(
            "bound", sa.LargeBinary(), nullable=False, comment="HMAC of the key's digest under the cookie"
        ),
        _moment("began_at", now=True),
        _moment("ends_at"),
        _moment("ends_at_latest"),
        comment="a console that is logged in; gone when it ended",
    )
    op.create_index("operator_session_key", "operator_session", ["key_id", "ends_at"])
