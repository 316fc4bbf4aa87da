"""The table of rehearsals. Nothing that sells reads it."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Identity,
    Index,
    Integer,
    Table,
    Text,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB

from store.rehearsals.words import RehearsalState
from store.schema import metadata, one_of, timestamp

rehearsal = Table(
    "rehearsal",
    metadata,
    Column("id", BigInteger, Identity(always=True), primary_key=True),
    Column("event_id", Integer, nullable=False),
    Column("buyers", Integer, nullable=False),
    Column("sized_for", Integer, nullable=False, comment="buyers the sizing is for"),
    Column("who", Text, nullable=False),
    Column("why", Text, nullable=False),
    Column("state", Text, nullable=False, server_default=RehearsalState.QUEUED.value),
    timestamp("asked_at", now=True),
    timestamp("began_at", nullable=True),
    timestamp("alive_at", nullable=True),
    timestamp("ended_at", nullable=True),
    Column("phase", Text, nullable=False, server_default="", comment="what happens, in words"),
    Column("done", Integer, nullable=False, server_default="0"),
    Column("total", Integer, nullable=False, server_default="0"),
    Column("result", JSONB, nullable=True),
    Column("error", Text, nullable=True),
    CheckConstraint(one_of("state", *(state.value for state in RehearsalState)), name="rehearsal_state"),
    Column("beside_a_sale", Boolean, nullable=False, server_default=text("false")),
    comment="a stampede against a copy of an event, and its sizing; one at a time",
)
Index(
    "rehearsal_one",
    text("(true)"),
    unique=True,
    _table=rehearsal,
    postgresql_where=text("state IN ('queued', 'running')"),
)
Index("rehearsal_event", rehearsal.c.event_id, rehearsal.c.id)
