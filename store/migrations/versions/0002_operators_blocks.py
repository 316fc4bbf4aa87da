"""Operators' changes: facts about what was blocked and unblocked, and who did what and why."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSON

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

APPEND_ONLY_TRIGGER = """
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON audit
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()
"""


def upgrade() -> None:
    op.drop_constraint("fact_kind", "fact")
    kinds = "kind IN ('paid', 'released', 'policy', 'blocked', 'unblocked')"
    op.create_check_constraint("fact_kind", "fact", kinds)
    op.create_table(
        "audit",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), primary_key=True),
        sa.Column("event_id", sa.Integer(), nullable=False),
        sa.Column(
            "at",
            sa.DateTime(timezone=True),
            server_default=sa.text("clock_timestamp()"),
            nullable=False,
        ),
        sa.Column("who", sa.Text(), nullable=False, comment="the operator's name"),
        sa.Column("why", sa.Text(), nullable=False),
        sa.Column("what", JSON(), nullable=False, comment="the change, in guids and hold ids"),
        sa.CheckConstraint("char_length(who) BETWEEN 1 AND 100", name="audit_who"),
        sa.CheckConstraint("char_length(why) BETWEEN 1 AND 200", name="audit_why"),
        comment="append-only (a trigger refuses anything else), in the transaction of each operator's change",
    )
    op.create_index("audit_event", "audit", ["event_id", "id"])
    op.execute(APPEND_ONLY_TRIGGER)
