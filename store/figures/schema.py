"""The tables of the read model; see `store.figures.project` and `store.figures.kept`."""

from __future__ import annotations

from sqlalchemy import JSON, BigInteger, Column, Integer, Table

from store.schema import metadata, timestamp

figures = Table(
    "figures",
    metadata,
    Column("event_id", Integer, primary_key=True, autoincrement=False),
    Column(
        "outbox_number", BigInteger, nullable=False, server_default="0", comment="of the outbox: up to here"
    ),
    Column("batch_no", BigInteger, nullable=False, server_default="0", comment="of the ledger: up to here"),
    Column("capacity", Integer, nullable=False, comment="seats and places of the plan"),
    Column("figures", JSON, nullable=False, comment="store.figures.fold.Figures"),
    timestamp("changed_at", now=True),
    comment="counted from outbox and ledger; can be lost and counted anew",
    postgresql_with={"fillfactor": "50"},
)

figures_kept = Table(
    "figures_kept",
    metadata,
    Column("event_id", Integer, primary_key=True, autoincrement=False),
    Column("outbox_number", BigInteger, nullable=False, comment="up to here rows are forgotten"),
    Column("figures", JSON, nullable=False, comment="what they came to; store.figures.fold.Figures"),
    comment="cannot be counted anew: its rows are gone",
)
