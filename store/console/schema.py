"""Tables of the console. Nothing that sells reads or writes them; without their rows charts begin anew."""

from __future__ import annotations

from sqlalchemy import (
    JSON,
    BigInteger,
    CheckConstraint,
    Column,
    DateTime,
    Float,
    Index,
    Integer,
    SmallInteger,
    Table,
)

from store.schema import metadata, timestamp

event_sample = Table(
    "event_sample",
    metadata,
    Column("event_id", Integer, primary_key=True, autoincrement=False),
    Column("at", DateTime(timezone=True), primary_key=True),
    Column("seconds", SmallInteger, nullable=False, comment="that the row stands for"),
    Column("arrived_per_second", Float, nullable=True),
    Column("decided_per_second", Float, nullable=True),
    Column("undecided", BigInteger, nullable=True),
    Column("latency_ms_p50", Float, nullable=True),
    Column("latency_ms_p99", Float, nullable=True),
    Column("sold", Integer, nullable=True),
    Column("on_hold", Integer, nullable=True),
    Column("revenue_minor", BigInteger, nullable=True),
    Column("waiting", BigInteger, nullable=True),
    Column("admitted", BigInteger, nullable=True),
    Column("inside", BigInteger, nullable=True),
    Column("workers", Integer, nullable=True),
    CheckConstraint("seconds > 0", name="event_sample_for"),
    comment="how each event stood, over time; see store.console.samples",
)
Index(
    "event_sample_young",
    event_sample.c.event_id,
    event_sample.c.at,
    postgresql_where=event_sample.c.seconds < 60,
)

event_tally = Table(
    "event_tally",
    metadata,
    Column("event_id", Integer, primary_key=True, autoincrement=False),
    Column("batch_no", BigInteger, nullable=False, server_default="0", comment="of the ledger: up to here"),
    Column("outcomes", JSON, nullable=False, comment="of requests: how many were answered so"),
    Column("asked", BigInteger, nullable=False, server_default="0", comment="buyers who asked"),
    Column("held", BigInteger, nullable=False, server_default="0", comment="buyers who were given something"),
    Column("began", BigInteger, nullable=True, comment="places that began to shop, at began_at"),
    timestamp("began_at", nullable=True),
    timestamp("changed_at", now=True),
    comment="how far buyers came; counted from the ledger, and can be counted anew",
    postgresql_with={"fillfactor": "50"},
)
