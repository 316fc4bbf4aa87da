"""The table of tickets, and the index by which a buyer's orders are found.

A ticket is derived from its order: it is one while the order is paid and still has the seat or place. Only
what that does not say has a row here.
"""

from __future__ import annotations

from sqlalchemy import BigInteger, Boolean, CheckConstraint, Column, Index, Integer, Table, Text, text

from store.schema import hold, metadata, timestamp

ticket = Table(
    "ticket",
    metadata,
    Column("event_id", Integer, primary_key=True, autoincrement=False),
    Column("order_id", BigInteger, primary_key=True, autoincrement=False),
    Column("area_no", Integer, primary_key=True, autoincrement=False, comment="-1: a numbered seat"),
    Column(
        "number",
        Integer,
        primary_key=True,
        autoincrement=False,
        comment="the seat's in the plan, or the place's among the order's of this area, from 1",
    ),
    Column(
        "serial", Integer, nullable=False, server_default="1", comment="tokens of a lower one are worthless"
    ),
    Column("holder", Text, nullable=True, comment="who has it, if not the order's buyer"),
    Column("offer_code", Text, nullable=True, comment="of the last offer to give it to somebody"),
    Column(
        "offered", Boolean, nullable=False, server_default=text("false"), comment="who has the code may claim"
    ),
    Column(
        "gone", Boolean, nullable=False, server_default=text("false"), comment="the order has it no longer"
    ),
    timestamp("checked_at", nullable=True),
    Column("checked_by", Text, nullable=True, comment="the device that let its holder in"),
    CheckConstraint("serial >= 1", name="ticket_serial"),
    CheckConstraint("area_no >= -1 AND number >= 0", name="ticket_item"),
    CheckConstraint("NOT offered OR (offer_code IS NOT NULL AND NOT gone)", name="ticket_offered_by_code"),
    CheckConstraint("(checked_at IS NULL) = (checked_by IS NULL)", name="ticket_checked_by"),
    comment="what is remembered of a ticket beyond its order; no row: the first, its buyer's, not used",
)
Index("ticket_offer", ticket.c.offer_code, unique=True, postgresql_where=ticket.c.offer_code.is_not(None))
Index("ticket_holder", ticket.c.event_id, ticket.c.holder, postgresql_where=ticket.c.holder.is_not(None))
Index(
    "hold_order",
    hold.c.event_id,
    hold.c.buyer,
    postgresql_where=text("state IN ('paid', 'refunded')"),
)
