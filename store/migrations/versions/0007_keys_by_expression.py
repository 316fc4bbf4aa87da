"""The index of keys begins with an expression: look-ups by key use it whatever statistics say."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.drop_index("ledger_key", "ledger")
    op.create_index(
        "ledger_key",
        "ledger",
        [sa.text("(event_id + 0)"), "buyer", "request_id"],
        unique=True,
        postgresql_where=sa.text("kind = 'request' AND outcome <> 'conflict'"),
    )
