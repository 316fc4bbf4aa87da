"""The fleet: hosts, workers, which event each attends to, and how busy events are."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "event_load",
        sa.Column("event_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("process", sa.Text(), nullable=False, comment="the owner's, as in its lease"),
        sa.Column("worker_id", sa.Uuid(), nullable=True),
        sa.Column(
            "at", sa.DateTime(timezone=True), server_default=sa.text("clock_timestamp()"), nullable=False
        ),
        sa.Column("epoch", sa.BigInteger(), nullable=False),
        sa.Column("batch_no", sa.BigInteger(), nullable=False),
        sa.Column("decided", sa.BigInteger(), nullable=False, comment="requests, since this owner began"),
        sa.Column("decided_per_second", sa.Float(), nullable=False),
        sa.Column("arrived_per_second", sa.Float(), nullable=False),
        sa.Column("undecided", sa.BigInteger(), nullable=False, comment="requests above the cursor"),
        sa.Column(
            "latency_ms_p50",
            sa.Float(),
            nullable=True,
            comment="from arrival to commit, since the row before",
        ),
        sa.Column("latency_ms_p99", sa.Float(), nullable=True),
        sa.PrimaryKeyConstraint("event_id"),
        comment="how busy an event is, by its owner, about once a second",
    )
    op.create_table(
        "fleet_assignment",
        sa.Column("event_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("worker_id", sa.Uuid(), nullable=False),
        sa.Column(
            "assigned_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("clock_timestamp()"),
            nullable=False,
        ),
        sa.Column(
            "preferred",
            sa.Boolean(),
            server_default=sa.text("false"),
            nullable=False,
            comment="is to own the event",
        ),
        sa.Column(
            "warm_batch", sa.BigInteger(), nullable=True, comment="how far it follows the ledger, or owns it"
        ),
        sa.Column("warm_at", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("event_id", "worker_id"),
        comment="a worker that attends to an event: owns it, or stands by",
    )
    op.create_index(
        "fleet_assignment_preferred",
        "fleet_assignment",
        ["event_id"],
        unique=True,
        postgresql_where=sa.text("preferred"),
    )
    op.create_index("fleet_assignment_worker", "fleet_assignment", ["worker_id"], unique=False)
    op.create_table(
        "fleet_event",
        sa.Column("event_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("mode", sa.Text(), server_default="auto", nullable=False),
        sa.Column("workers", sa.Integer(), server_default="2", nullable=False),
        sa.Column("hot", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.Column("hot_since", sa.DateTime(timezone=True), nullable=True),
        sa.Column("busy_since", sa.DateTime(timezone=True), nullable=True),
        sa.Column("quiet_since", sa.DateTime(timezone=True), nullable=True),
        sa.Column(
            "edition",
            sa.Integer(),
            server_default="1",
            nullable=False,
            comment="goes up with operators' changes",
        ),
        sa.CheckConstraint("mode IN ('auto', 'hot', 'cold')", name="fleet_event_mode"),
        sa.CheckConstraint("workers BETWEEN 1 AND 8", name="fleet_event_workers"),
        sa.PrimaryKeyConstraint("event_id"),
        comment="what an event is to have; without a row the defaults",
    )
    op.create_table(
        "fleet_host",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("slots", sa.Integer(), nullable=False),
        sa.Column("process", sa.Text(), nullable=False, comment="of its agent: machine and process id"),
        sa.Column("version", sa.Text(), nullable=False, comment="of onsale"),
        sa.Column(
            "joined_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("clock_timestamp()"),
            nullable=False,
        ),
        sa.Column(
            "seen_at", sa.DateTime(timezone=True), server_default=sa.text("clock_timestamp()"), nullable=False
        ),
        sa.Column("draining_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("memory_bytes", sa.BigInteger(), nullable=True, comment="of the machine, in use"),
        sa.Column("memory_bytes_max", sa.BigInteger(), nullable=True),
        sa.Column("load", sa.Float(), nullable=True, comment="of the last minute, a core"),
        sa.CheckConstraint("slots BETWEEN 1 AND 64", name="fleet_host_slots"),
        sa.PrimaryKeyConstraint("name"),
        comment="a machine that runs allocator workers",
    )
    op.create_table(
        "fleet_log",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column(
            "at", sa.DateTime(timezone=True), server_default=sa.text("clock_timestamp()"), nullable=False
        ),
        sa.Column("what", sa.Text(), nullable=False),
        sa.Column("event_id", sa.Integer(), nullable=True),
        sa.Column("host", sa.Text(), nullable=True),
        sa.Column("worker_id", sa.Uuid(), nullable=True),
        sa.Column("who", sa.Text(), nullable=False, comment="an operator, or planner"),
        sa.Column("why", sa.Text(), nullable=False),
        sa.Column(
            "detail", postgresql.JSONB(astext_type=sa.Text()), server_default=sa.text("'{}'"), nullable=False
        ),
        sa.CheckConstraint(
            "what IN ('joined', 'left', 'lost', 'started', 'stopped', 'assigned', 'unassigned', 'preferred',"
            " 'hot', 'cold', 'scaled', 'moved', 'draining', 'kept', 'short')",
            name="fleet_log_what",
        ),
        sa.PrimaryKeyConstraint("id"),
        comment="each move with its reason; old rows go",
    )
    op.create_index("fleet_log_at", "fleet_log", ["at"], unique=False)
    op.create_table(
        "fleet_turn",
        sa.Column("one", sa.Boolean(), server_default=sa.text("true"), nullable=False),
        sa.Column("planned_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("planner", sa.Text(), nullable=True, comment="host and process that planned last"),
        sa.CheckConstraint("one", name="fleet_turn_one"),
        sa.PrimaryKeyConstraint("one"),
        comment="one row: whoever has it locked plans",
    )
    op.create_table(
        "fleet_worker",
        sa.Column("id", sa.Uuid(), server_default=sa.text("gen_random_uuid()"), nullable=False),
        sa.Column("host", sa.Text(), nullable=False),
        sa.Column(
            "wanted_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("clock_timestamp()"),
            nullable=False,
        ),
        sa.Column("process", sa.Text(), nullable=True, comment="machine and process id, once it runs"),
        sa.Column("began_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("seen_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("stop_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("memory_bytes", sa.BigInteger(), nullable=True, comment="resident"),
        sa.Column("cpu", sa.Float(), nullable=True, comment="cores in use since it was heard of before"),
        sa.PrimaryKeyConstraint("id"),
        comment="an allocator process that is wanted on a host: one RQ job, one slot; its row goes with it",
    )
    op.create_index("fleet_worker_host", "fleet_worker", ["host"], unique=False)
    # ### end Alembic commands ###
    op.execute("INSERT INTO fleet_turn DEFAULT VALUES")
