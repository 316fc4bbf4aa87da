"""The table of events that are called off: canceled, or moved to another date. See `store.calling_off`."""

from __future__ import annotations

from sqlalchemy import JSON, BigInteger, CheckConstraint, Column, Index, Integer, Table, Text, text

from store.schema import metadata, timestamp

called_off = Table(
    "called_off",
    metadata,
    Column("event_id", Integer, primary_key=True, autoincrement=False),
    Column("to_event_id", Integer, nullable=True, comment="where its orders go; null: it is canceled"),
    Column("who", Text, nullable=False),
    Column("why", Text, nullable=False),
    Column("reserved", JSON, nullable=True, comment="moved: what was blocked there, store.words.Blocks"),
    timestamp("begun_at", now=True),
    timestamp("done_at", nullable=True),
    Column("holds", Integer, nullable=False, server_default="0", comment="that were ended"),
    Column("waiting", Integer, nullable=False, server_default="0", comment="that were taken off the list"),
    Column("refunded", Integer, nullable=False, server_default="0", comment="orders that were taken back"),
    Column("rebooked", Integer, nullable=False, server_default="0", comment="orders that were moved"),
    CheckConstraint("to_event_id <> event_id", name="called_off_elsewhere"),
    CheckConstraint("(to_event_id IS NULL) = (reserved IS NULL)", name="called_off_reserved"),
    comment="how far each is; whoever is killed, the next goes on",
)
Index("called_off_running", called_off.c.event_id, postgresql_where=text("done_at IS NULL"))

rebooked = Table(
    "rebooked",
    metadata,
    Column("event_id", Integer, primary_key=True, autoincrement=False),
    Column("order_id", BigInteger, primary_key=True, autoincrement=False),
    Column("to_event_id", Integer, nullable=False),
    Column("to_order_id", BigInteger, nullable=False),
    Column("payment_id", BigInteger, nullable=True, comment="it went with the order; null: nobody paid"),
    Column("amount_minor", BigInteger, nullable=False, comment="of it, what was not refunded"),
    Column("areas", JSON, nullable=False, comment="places it has there: (area number, places)"),
    timestamp("at", now=True),
    comment="orders that were moved to another event, once each",
)
Index("rebooked_to", rebooked.c.to_event_id, rebooked.c.to_order_id, unique=True)
