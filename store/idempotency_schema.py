"""The table of what was answered under callers' own keys; see `store.idempotency`."""

from __future__ import annotations

from sqlalchemy import BigInteger, CheckConstraint, Column, Index, LargeBinary, SmallInteger, Table, Text

from store.idempotency import ANSWER_BYTES_MAX
from store.schema import metadata, timestamp

idempotency_key = Table(
    "idempotency_key",
    metadata,
    Column("scope", LargeBinary, primary_key=True, comment="sha256 of who asks, method, path and key"),
    Column("buyer", Text, nullable=True, comment="whose key it is; null: an operator's"),
    Column("fingerprint", LargeBinary, nullable=False, comment="sha256 of what was asked"),
    Column("owner", BigInteger, nullable=False, comment="random; the attempt that may write the answer"),
    timestamp("lease_until", nullable=True),
    Column("status", SmallInteger, nullable=True, comment="null: under way"),
    Column("head", Text, nullable=True, comment="JSON: [[name, value], ...]"),
    Column("body", LargeBinary, nullable=True),
    timestamp("made_at", now=True),
    CheckConstraint("(status IS NULL) = (lease_until IS NOT NULL)", name="idempotency_key_under_way"),
    CheckConstraint(
        "(status IS NULL) = (body IS NULL) AND (status IS NULL) = (head IS NULL)",
        name="idempotency_key_answered",
    ),
    CheckConstraint(f"octet_length(body) <= {ANSWER_BYTES_MAX}", name="idempotency_key_bounded"),
    comment="calls that carried an Idempotency-Key, and what they were answered",
)
Index("idempotency_key_made", idempotency_key.c.made_at)
Index("idempotency_key_buyer", idempotency_key.c.buyer, postgresql_where=idempotency_key.c.buyer.is_not(None))
