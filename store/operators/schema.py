"""Tables of operators' keys and sessions; what was done with them is in `audit`."""

from __future__ import annotations

from sqlalchemy import (
    CheckConstraint,
    Column,
    Identity,
    Index,
    Integer,
    LargeBinary,
    Table,
    Text,
    func,
    text,
)
from sqlalchemy.dialects.postgresql import ARRAY

from store.operators.words import Role
from store.schema import metadata, one_of, timestamp

operator_key = Table(
    "operator_key",
    metadata,
    Column("id", Integer, Identity(always=True), primary_key=True),
    Column("name", Text, nullable=False, comment="who acts with it, in audit"),
    Column("role", Text, nullable=False),
    Column("event_ids", ARRAY(Integer), nullable=True, comment="the only events it is for; null: all"),
    Column("digest", LargeBinary, nullable=False, comment="SHA-256 of its secret"),
    Column("previous_digest", LargeBinary, nullable=True, comment="counts too, until previous_until"),
    timestamp("previous_until", nullable=True),
    timestamp("created_at", now=True),
    Column("created_by", Text, nullable=False),
    timestamp("expires_at", nullable=True),
    timestamp("rotated_at", nullable=True),
    timestamp("revoked_at", nullable=True),
    Column("revoked_by", Text, nullable=True),
    timestamp("last_used_at", nullable=True),
    CheckConstraint(one_of("role", *(role.value for role in Role)), name="operator_key_role"),
    CheckConstraint("char_length(name) BETWEEN 1 AND 40", name="operator_key_name_length"),
    CheckConstraint("cardinality(event_ids) > 0", name="operator_key_scope"),
    CheckConstraint("(previous_digest IS NULL) = (previous_until IS NULL)", name="operator_key_previous"),
    CheckConstraint("(revoked_at IS NULL) = (revoked_by IS NULL)", name="operator_key_revoked"),
    comment="who may operate; rows stay when a key is revoked",
)
Index(
    "operator_key_name",
    func.lower(operator_key.c.name),
    unique=True,
    postgresql_where=text("revoked_at IS NULL"),
)

operator_session = Table(
    "operator_session",
    metadata,
    Column("digest", LargeBinary, primary_key=True, comment="SHA-256 of its cookie"),
    Column("key_id", Integer, nullable=True, comment="null: the environment's key"),
    Column("bound", LargeBinary, nullable=False, comment="HMAC of the key's digest under the cookie"),
    timestamp("began_at", now=True),
    timestamp("ends_at"),
    timestamp("ends_at_latest"),
    comment="a console that is logged in; gone when it ended",
)
Index("operator_session_key", operator_session.c.key_id, operator_session.c.ends_at)
