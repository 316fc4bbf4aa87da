"""Tables of what was erased: which rows of the ledger are not what was hashed, and why that is right.

Both are append-only (a trigger refuses anything else). A row of the ledger can be changed only in a
transaction that says so, only in whose it is, and only where its record is here by then: triggers of
migration 0021.
"""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Identity, Index, Integer, LargeBinary, Table, Text, func

from store.chores.schema import mail
from store.payments.schema import payment
from store.room.schema import place
from store.schema import metadata, timestamp

buyer_erasure = Table(
    "buyer_erasure",
    metadata,
    Column("event_id", Integer, primary_key=True, autoincrement=False),
    Column("pseudonym", Text, primary_key=True),
    timestamp("at", now=True),
    Column("audit_id", BigInteger, nullable=False, comment="who erased it, and why"),
    comment="buyers whose data were erased, by what stands for them since; append-only",
)

ledger_erasure = Table(
    "ledger_erasure",
    metadata,
    Column("id", BigInteger, Identity(always=True), primary_key=True),
    Column("event_id", Integer, nullable=False),
    Column("batch_no", BigInteger, nullable=False),
    Column("position", Integer, nullable=False),
    Column("digest", LargeBinary, nullable=False, comment="of the row as it is since; of several the last"),
    timestamp("at", now=True),
    Column("audit_id", BigInteger, nullable=False),
    comment="rows of the ledger in which a pseudonym stands for a buyer; append-only",
)
Index(
    "ledger_erasure_row",
    ledger_erasure.c.event_id,
    ledger_erasure.c.batch_no,
    ledger_erasure.c.position,
)

# By whose address: for whoever erases or finds a buyer by mail.
Index("payment_email", func.lower(payment.c.email), postgresql_where=payment.c.email.is_not(None))
Index("place_email", func.lower(place.c.email), postgresql_where=place.c.email.is_not(None))
Index("mail_address", func.lower(mail.c.address))
