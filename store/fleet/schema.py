"""Tables of the fleet; none is read by a batch."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Float,
    Identity,
    Index,
    Integer,
    Table,
    Text,
    Uuid,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB

from store.fleet.words import SLOTS_MAX, WORKERS_DEFAULT, WORKERS_MAX, FleetWhat, Mode
from store.schema import metadata, one_of, timestamp

fleet_turn = Table(
    "fleet_turn",
    metadata,
    Column("one", Boolean, primary_key=True, server_default=text("true")),
    timestamp("planned_at", nullable=True),
    Column("planner", Text, nullable=True, comment="host and process that planned last"),
    CheckConstraint("one", name="fleet_turn_one"),
    comment="one row: whoever has it locked plans",
)

fleet_host = Table(
    "fleet_host",
    metadata,
    Column("name", Text, primary_key=True),
    Column("slots", Integer, nullable=False),
    Column("process", Text, nullable=False, comment="of its agent: machine and process id"),
    Column("version", Text, nullable=False, comment="of onsale"),
    timestamp("joined_at", now=True),
    timestamp("seen_at", now=True),
    timestamp("draining_at", nullable=True),
    Column("memory_bytes", BigInteger, nullable=True, comment="of the machine, in use"),
    Column("memory_bytes_max", BigInteger, nullable=True),
    Column("load", Float, nullable=True, comment="of the last minute, a core"),
    CheckConstraint(f"slots BETWEEN 1 AND {SLOTS_MAX}", name="fleet_host_slots"),
    comment="a machine that runs allocator workers",
)

fleet_worker = Table(
    "fleet_worker",
    metadata,
    Column("id", Uuid, primary_key=True, server_default=text("gen_random_uuid()")),
    Column("host", Text, nullable=False),
    timestamp("wanted_at", now=True),
    Column("process", Text, nullable=True, comment="machine and process id, once it runs"),
    timestamp("began_at", nullable=True),
    timestamp("seen_at", nullable=True),
    timestamp("stop_at", nullable=True),
    Column("memory_bytes", BigInteger, nullable=True, comment="resident"),
    Column("cpu", Float, nullable=True, comment="cores in use since it was heard of before"),
    comment="an allocator process that is wanted on a host: one RQ job, one slot; its row goes with it",
)
Index("fleet_worker_host", fleet_worker.c.host)

fleet_event = Table(
    "fleet_event",
    metadata,
    Column("event_id", Integer, primary_key=True, autoincrement=False),
    Column("mode", Text, nullable=False, server_default=Mode.AUTO.value),
    Column("workers", Integer, nullable=False, server_default=str(WORKERS_DEFAULT)),
    Column("hot", Boolean, nullable=False, server_default=text("false")),
    timestamp("hot_since", nullable=True),
    timestamp("busy_since", nullable=True),
    timestamp("quiet_since", nullable=True),
    Column("edition", Integer, nullable=False, server_default="1", comment="goes up with operators' changes"),
    CheckConstraint(one_of("mode", *(mode.value for mode in Mode)), name="fleet_event_mode"),
    CheckConstraint(f"workers BETWEEN 1 AND {WORKERS_MAX}", name="fleet_event_workers"),
    comment="what an event is to have; without a row the defaults",
)

fleet_assignment = Table(
    "fleet_assignment",
    metadata,
    Column("event_id", Integer, primary_key=True, autoincrement=False),
    Column("worker_id", Uuid, primary_key=True),
    timestamp("assigned_at", now=True),
    Column("preferred", Boolean, nullable=False, server_default=text("false"), comment="is to own the event"),
    Column("warm_batch", BigInteger, nullable=True, comment="how far it follows the ledger, or owns it"),
    timestamp("warm_at", nullable=True),
    comment="a worker that attends to an event: owns it, or stands by",
)
Index(
    "fleet_assignment_preferred",
    fleet_assignment.c.event_id,
    unique=True,
    postgresql_where=text("preferred"),
)
Index("fleet_assignment_worker", fleet_assignment.c.worker_id)

fleet_log = Table(
    "fleet_log",
    metadata,
    Column("id", BigInteger, Identity(always=True), primary_key=True),
    timestamp("at", now=True),
    Column("what", Text, nullable=False),
    Column("event_id", Integer, nullable=True),
    Column("host", Text, nullable=True),
    Column("worker_id", Uuid, nullable=True),
    Column("who", Text, nullable=False, comment="an operator, or planner"),
    Column("why", Text, nullable=False),
    Column("detail", JSONB, nullable=False, server_default=text("'{}'")),
    CheckConstraint(one_of("what", *(what.value for what in FleetWhat)), name="fleet_log_what"),
    comment="each move with its reason; old rows go",
)
Index("fleet_log_at", fleet_log.c.at)

event_load = Table(
    "event_load",
    metadata,
    Column("event_id", Integer, primary_key=True, autoincrement=False),
    Column("process", Text, nullable=False, comment="the owner's, as in its lease"),
    Column("worker_id", Uuid, nullable=True),
    timestamp("at", now=True),
    Column("epoch", BigInteger, nullable=False),
    Column("batch_no", BigInteger, nullable=False),
    Column("decided", BigInteger, nullable=False, comment="requests, since this owner began"),
    Column("decided_per_second", Float, nullable=False),
    Column("arrived_per_second", Float, nullable=False),
    Column("undecided", BigInteger, nullable=False, comment="requests above the cursor"),
    Column("latency_ms_p50", Float, nullable=True, comment="from arrival to commit, since the row before"),
    Column("latency_ms_p99", Float, nullable=True),
    comment="how busy an event is, by its owner, about once a second",
)

event_balance = Table(
    "event_balance",
    metadata,
    Column("event_id", Integer, primary_key=True, autoincrement=False),
    timestamp("looked_at", now=True),
    Column("findings", Integer, nullable=False, comment="rows that do not add up; 0 is as it must be"),
    comment="whether seats and places added up when the owner looked last",
)
