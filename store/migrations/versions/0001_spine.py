"""The spine: venues, events, seats, holds, facts, the cursor that fences and the ledger.

What the tables are for is said in `store/schema.py`; here is what a revision adds to them: the
triggers that keep history append-only, and vacuum settings for tables whose rows are rewritten often.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSON

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

APPEND_ONLY = ("seat_history", "ledger", "ledger_batch")

# For statements, not rows: an insert pays nothing. They fire for ON CONFLICT DO UPDATE too, and are
# origin triggers: a superuser who really means it says DISABLE TRIGGER or session_replication_role.
REFUSE_CHANGE = """
CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% is append-only: % is refused', TG_TABLE_NAME, TG_OP
        USING ERRCODE = 'restrict_violation',
              HINT = 'Rows are written once; add a new row that says what changed.';
END
$$
"""
APPEND_ONLY_TRIGGER = """
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON {table}
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()
"""

# The defaults wait for a fifth of a table to be dead. A sale rewrites every seat once or twice within
# minutes, so these tables are vacuumed early; one-row tables are vacuumed by count. An early
# ANALYZE keeps the plans of the unnest joins. The ledger only grows: the defaults fit it.
VACUUM_SETTINGS = {
    "seat": "autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.05",
    "hold": "autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.05",
    "hold_seat": "autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.05",
    "hold_area": "autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.05",
    "area": "autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500",
    "event_cursor": "autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500",
    "lease": "autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500",
    "fact": "autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000",
}


def upgrade() -> None:
    _plans_and_events()
    _seats_and_holds()
    _facts_and_fence()
    _ledger()
    op.execute(REFUSE_CHANGE)
    for table in APPEND_ONLY:
        op.execute(APPEND_ONLY_TRIGGER.format(table=table))
    for table, settings in VACUUM_SETTINGS.items():
        op.execute(f"ALTER TABLE {table} SET ({settings})")


def _timestamp(name: str, *, now: bool = False, nullable: bool = False) -> sa.Column[object]:
    default = sa.text("clock_timestamp()") if now else None
    return sa.Column(name, sa.DateTime(timezone=True), server_default=default, nullable=nullable)


def _plans_and_events() -> None:
    op.create_table(
        "venue",
        sa.Column("id", sa.Integer(), sa.Identity(always=True), primary_key=True),
        sa.Column("slug", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column(
            "plan", sa.Text(), nullable=False, comment="canonical JSON of store.plan.Plan; never changed"
        ),
        sa.Column("plan_sha256", sa.LargeBinary(), nullable=False),
        _timestamp("created_at", now=True),
        sa.UniqueConstraint("slug"),
    )
    op.create_table(
        "event",
        sa.Column("id", sa.Integer(), sa.Identity(always=True), primary_key=True),
        sa.Column("slug", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("venue_id", sa.Integer(), nullable=False),
        sa.Column("state", sa.Text(), server_default="draft", nullable=False),
        _timestamp("opens_at", nullable=True),
        _timestamp("paused_at", nullable=True),
        sa.Column("hold_ttl_seconds", sa.Integer(), server_default="480", nullable=False),
        sa.Column("seats_per_buyer_max", sa.Integer(), server_default="8", nullable=False),
        sa.Column("fast_gate", sa.Boolean(), server_default=sa.text("true"), nullable=False),
        _timestamp("created_at", now=True),
        sa.UniqueConstraint("slug"),
        sa.CheckConstraint("state IN ('draft', 'lobby', 'open', 'paused', 'closed')", name="event_state"),
        sa.CheckConstraint("(state = 'paused') = (paused_at IS NOT NULL)", name="event_paused_since"),
        sa.CheckConstraint("hold_ttl_seconds BETWEEN 1 AND 86400", name="event_hold_ttl"),
        sa.CheckConstraint("seats_per_buyer_max BETWEEN 1 AND 1000", name="event_seats_per_buyer"),
    )


def _seats_and_holds() -> None:
    op.create_table(
        "seat",
        sa.Column("event_id", sa.Integer(), primary_key=True),
        sa.Column("seat_no", sa.Integer(), primary_key=True, comment="index in the venue's plan"),
        sa.Column("state", sa.Text(), server_default="available", nullable=False),
        sa.Column("hold_id", sa.BigInteger(), comment="the hold or order that has it"),
        sa.CheckConstraint("state IN ('available', 'held', 'sold', 'blocked')", name="seat_state"),
        sa.CheckConstraint("(state IN ('held', 'sold')) = (hold_id IS NOT NULL)", name="seat_held_by"),
        postgresql_with={"fillfactor": "50"},
    )
    op.create_table(
        "area",
        sa.Column("event_id", sa.Integer(), primary_key=True),
        sa.Column("area_no", sa.Integer(), primary_key=True, comment="index in the venue's plan"),
        sa.Column("capacity", sa.Integer(), nullable=False),
        sa.Column("held", sa.Integer(), server_default="0", nullable=False),
        sa.Column("sold", sa.Integer(), server_default="0", nullable=False),
        sa.Column("blocked", sa.Integer(), server_default="0", nullable=False),
        sa.CheckConstraint("held >= 0 AND sold >= 0 AND blocked >= 0", name="area_counts_not_negative"),
        sa.CheckConstraint("held + sold + blocked <= capacity", name="area_within_capacity"),
        postgresql_with={"fillfactor": "10"},
    )
    op.create_table(
        "hold",
        sa.Column("event_id", sa.Integer(), primary_key=True),
        sa.Column("hold_id", sa.BigInteger(), primary_key=True),
        sa.Column("buyer", sa.Text(), nullable=False),
        sa.Column("request_id", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), server_default="active", nullable=False),
        sa.Column(
            "quantity", sa.SmallInteger(), nullable=False, comment="seats and standing places together"
        ),
        _timestamp("expires_at"),
        _timestamp("paid_at", nullable=True),
        sa.CheckConstraint("state IN ('active', 'paid', 'released', 'expired')", name="hold_state"),
        sa.CheckConstraint("(state = 'paid') = (paid_at IS NOT NULL)", name="hold_paid_when"),
        sa.CheckConstraint("quantity > 0", name="hold_not_empty"),
        postgresql_with={"fillfactor": "80"},
    )
    op.create_index(
        "hold_active", "hold", ["event_id", "expires_at"], postgresql_where=sa.text("state = 'active'")
    )
    op.create_table(
        "hold_seat",
        sa.Column("event_id", sa.Integer(), primary_key=True),
        sa.Column("seat_no", sa.Integer(), primary_key=True),
        sa.Column("hold_id", sa.BigInteger(), nullable=False),
        comment="seats of active and paid holds; the primary key is law 1",
    )
    op.create_table(
        "hold_area",
        sa.Column("event_id", sa.Integer(), primary_key=True),
        sa.Column("hold_id", sa.BigInteger(), primary_key=True),
        sa.Column("area_no", sa.Integer(), primary_key=True),
        sa.Column("quantity", sa.Integer(), nullable=False),
        sa.CheckConstraint("quantity > 0", name="hold_area_not_empty"),
    )
    op.create_table(
        "seat_history",
        sa.Column("event_id", sa.Integer(), nullable=False),
        sa.Column("seat_no", sa.Integer(), nullable=False),
        _timestamp("at", now=True),
        sa.Column("state", sa.Text(), nullable=False, comment="what the seat became"),
        sa.Column("hold_id", sa.BigInteger(), comment="the hold that had or got it"),
        sa.Column("by", sa.Text(), nullable=False, comment="allocator, buyer, or an operator's name"),
        comment="append-only (a trigger refuses anything else), in the transaction of each change",
    )
    op.create_index("seat_history_seat", "seat_history", ["event_id", "seat_no"])


def _facts_and_fence() -> None:
    op.create_table(
        "fact",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), primary_key=True),
        sa.Column("event_id", sa.Integer(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("hold_id", sa.BigInteger()),
        sa.Column("body", JSON()),
        sa.CheckConstraint("kind IN ('paid', 'released', 'policy')", name="fact_kind"),
        comment="changes the allocator has not consumed yet",
    )
    op.create_index("fact_event", "fact", ["event_id"])
    op.create_table(
        "event_cursor",
        sa.Column("event_id", sa.Integer(), primary_key=True, autoincrement=False),
        sa.Column("epoch", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("owner", sa.Uuid(), comment="random per takeover"),
        sa.Column("batch_no", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column(
            "arrival",
            sa.Text(),
            server_default="0-0",
            nullable=False,
            comment="everything up to here is decided",
        ),
        _timestamp("batch_time", now=True),
        comment="the fence: one compare-and-set per batch",
        postgresql_with={"fillfactor": "10"},
    )
    op.create_table(
        "lease",
        sa.Column("event_id", sa.Integer(), primary_key=True, autoincrement=False),
        sa.Column("owner", sa.Uuid()),
        sa.Column("worker", sa.Text(), comment="host and process, for people"),
        sa.Column("backend_pid", sa.Integer()),
        _timestamp("backend_start", nullable=True),
        _timestamp("renewed_at", nullable=True),
        comment="who may allocate; renewed apart from the cursor row so neither waits for the other",
        postgresql_with={"fillfactor": "10"},
    )


def _ledger() -> None:
    op.create_table(
        "ledger_batch",
        sa.Column("event_id", sa.Integer(), primary_key=True),
        sa.Column("batch_no", sa.BigInteger(), primary_key=True),
        sa.Column("epoch", sa.BigInteger(), nullable=False),
        _timestamp("batch_time"),
        sa.Column("arrival", sa.Text(), nullable=False, comment="cursor after this batch"),
        sa.Column("code_version", sa.Integer(), nullable=False, comment="of the decision function"),
        sa.Column(
            "row_digests", sa.LargeBinary(), nullable=False, comment="16 bytes a row, in position order"
        ),
        sa.Column(
            "hash", sa.LargeBinary(), nullable=False, comment="sha256 over the previous hash and this batch"
        ),
    )
    op.create_table(
        "ledger",
        sa.Column("event_id", sa.Integer(), primary_key=True),
        sa.Column("batch_no", sa.BigInteger(), primary_key=True),
        sa.Column("position", sa.Integer(), primary_key=True),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("arrival", sa.Text(), comment="requests: the arrival that counts"),
        sa.Column("buyer", sa.Text()),
        sa.Column("request_id", sa.Text()),
        sa.Column("input", JSON(), nullable=False, comment="requests: the want; facts: the fact"),
        sa.Column("outcome", sa.Text(), nullable=False),
        sa.Column("result", JSON(), nullable=False),
        sa.CheckConstraint("kind IN ('request', 'fact', 'expired')", name="ledger_kind"),
    )
    op.create_index(
        "ledger_key",
        "ledger",
        ["event_id", "buyer", "request_id"],
        unique=True,
        postgresql_where=sa.text("kind = 'request' AND outcome <> 'conflict'"),
    )
