"""What was lost in an outage is given back to holds, and said."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

FACT_KINDS = (
    "kind IN ('paid', 'released', 'policy', 'blocked', 'unblocked', 'extended', 'left', 'sold', 'returned',"
    " 'outage')"
)


def upgrade() -> None:
    op.add_column("lease", sa.Column("given_until", sa.DateTime(timezone=True), nullable=True))
    op.drop_constraint("fact_kind", "fact")
    op.create_check_constraint("fact_kind", "fact", FACT_KINDS)
