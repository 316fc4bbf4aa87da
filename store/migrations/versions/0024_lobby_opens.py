"""When a lobby begins by itself."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0024"
down_revision = "0023"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("event", sa.Column("lobby_opens_at", sa.DateTime(timezone=True), nullable=True))
