"""Holds are paid for: payments, refunds, providers' notices, and the outbox."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import ARRAY

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None

NOW = sa.text("clock_timestamp()")
OPEN = "state IN ('created', 'failed')"


def _moment(name: str, *, now: bool = False) -> sa.Column[object]:
    return sa.Column(name, sa.DateTime(timezone=True), server_default=NOW if now else None, nullable=not now)


def upgrade() -> None:
    _terms()
    _payment()
    _refund()
    op.create_table(
        "payment_notice",
        sa.Column("provider", sa.Text(), nullable=False),
        sa.Column("notice_id", sa.Text(), nullable=False, comment="the provider's id of what it told"),
        sa.Column("payment_id", sa.BigInteger(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("became", sa.Text(), nullable=False, comment="the payment's state after it"),
        _moment("at", now=True),
        sa.PrimaryKeyConstraint("provider", "notice_id"),
        comment="what providers told and was acted on, once each",
    )
    op.create_index("payment_notice_payment", "payment_notice", ["payment_id"])
    op.create_table(
        "outbox",
        sa.Column("event_id", sa.Integer(), nullable=False),
        sa.Column(
            "number", sa.BigInteger(), nullable=False, comment="1, 2, 3 … of the event; see store.outbox"
        ),
        sa.Column(
            "id",
            sa.BigInteger(),
            sa.Identity(always=True),
            nullable=False,
            comment="what the row is called outside",
        ),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("body", sa.JSON(), nullable=False),
        _moment("at", now=True),
        sa.PrimaryKeyConstraint("event_id", "number"),
        comment="what the world outside is told, written by the transaction that made it true",
    )
    op.create_index("outbox_id", "outbox", ["id"], unique=True)
    op.create_table(
        "outbox_count",
        sa.Column("event_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("rows", sa.BigInteger(), nullable=False, comment="the number of the event's last row"),
        sa.PrimaryKeyConstraint("event_id"),
        comment="locked by who writes an event's rows until it commits",
        postgresql_with={"fillfactor": "10"},
    )


def _terms() -> None:
    told = "whether holds are bought with money"
    op.add_column(
        "event", sa.Column("payment", sa.Text(), server_default="none", nullable=False, comment=told)
    )
    op.add_column(
        "event",
        sa.Column(
            "late_payment", sa.Text(), server_default="refund", nullable=False, comment="see LatePolicy"
        ),
    )
    op.create_check_constraint("event_payment", "event", "payment IN ('none', 'required')")
    op.create_check_constraint("event_late_payment", "event", "late_payment IN ('refund', 'reacquire')")


def _payment() -> None:
    op.create_table(
        "payment",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("event_id", sa.Integer(), nullable=False),
        sa.Column("hold_id", sa.BigInteger(), nullable=False, comment="the hold it was begun for"),
        sa.Column(
            "order_id",
            sa.BigInteger(),
            nullable=True,
            comment="the hold it bought: another where it came late",
        ),
        sa.Column("buyer", sa.Text(), nullable=False),
        sa.Column("email", sa.Text(), nullable=True, comment="where its buyer wants to hear of it"),
        sa.Column("provider", sa.Text(), nullable=False),
        sa.Column(
            "intent",
            sa.Text(),
            nullable=True,
            comment="the provider's id; null until the provider has said it",
        ),
        sa.Column(
            "checkout", sa.JSON(), nullable=True, comment="how its buyer pays: {url} or {client_secret}"
        ),
        sa.Column("state", sa.Text(), server_default="created", nullable=False),
        sa.Column("currency", sa.Text(), nullable=False),
        sa.Column("amount_minor", sa.BigInteger(), nullable=False),
        sa.Column(
            "fee_minor", sa.BigInteger(), nullable=False, comment="of the amount: the organiser's fees"
        ),
        sa.Column("tax_minor", sa.BigInteger(), nullable=False, comment="of the amount: tax"),
        sa.Column(
            "charged", sa.JSON(), nullable=False, comment="what the hold had, each with its price; Charged"
        ),
        sa.Column(
            "quantity",
            sa.SmallInteger(),
            nullable=False,
            comment="of the hold; has it another, the amount is wrong",
        ),
        sa.Column("seats", ARRAY(sa.Integer()), nullable=False, comment="the hold's, by number"),
        sa.Column("declines", sa.SmallInteger(), server_default="0", nullable=False),
        sa.Column("reason", sa.Text(), nullable=True, comment="why the money goes back"),
        _moment("created_at", now=True),
        _moment("succeeded_at"),
        sa.Column(
            "intent_ended",
            sa.Boolean(),
            server_default=sa.text("false"),
            nullable=False,
            comment="at the provider too",
        ),
        sa.Column(
            "refund_due_minor",
            sa.BigInteger(),
            server_default="0",
            nullable=False,
            comment="and not yet given",
        ),
        sa.Column("refunded_minor", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("provider_fee_minor", sa.BigInteger(), server_default="0", nullable=False),
        sa.CheckConstraint(
            "state IN ('created', 'failed', 'canceled', 'succeeded', 'late', 'refund_due', 'refunded')",
            name="payment_state",
        ),
        sa.CheckConstraint(
            "(succeeded_at IS NULL) = (state IN ('canceled', 'created', 'failed'))",
            name="payment_succeeded_when",
        ),
        sa.CheckConstraint("state <> 'succeeded' OR order_id IS NOT NULL", name="payment_has_seats"),
        sa.CheckConstraint("state <> 'late' OR order_id IS NULL", name="payment_late_has_none"),
        sa.CheckConstraint("amount_minor > 0", name="payment_amount"),
        sa.CheckConstraint("quantity > 0", name="payment_not_empty"),
        sa.CheckConstraint(
            "refund_due_minor >= 0 AND refunded_minor >= 0"
            " AND refund_due_minor + refunded_minor <= amount_minor",
            name="payment_refunds",
        ),
        sa.CheckConstraint(
            "(state = 'refunded') = (refunded_minor = amount_minor)"
            " AND (state = 'refund_due') <= (refund_due_minor + refunded_minor = amount_minor)",
            name="payment_all_refunded",
        ),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("payment_intent", "payment", ["provider", "intent"], unique=True)
    op.create_index(
        "payment_open", "payment", ["event_id", "hold_id"], unique=True, postgresql_where=sa.text(OPEN)
    )
    op.create_index(
        "payment_order",
        "payment",
        ["event_id", "order_id"],
        unique=True,
        postgresql_where=sa.text("order_id IS NOT NULL"),
    )
    op.create_index("payment_hold", "payment", ["event_id", "hold_id"])
    op.create_index("payment_late", "payment", ["id"], postgresql_where=sa.text("state = 'late'"))
    op.create_index(
        "payment_not_ended",
        "payment",
        ["id"],
        postgresql_where=sa.text("state IN ('canceled', 'created', 'failed') AND NOT intent_ended"),
    )


def _refund() -> None:
    op.create_table(
        "refund",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("payment_id", sa.BigInteger(), nullable=False),
        sa.Column("event_id", sa.Integer(), nullable=False),
        sa.Column("amount_minor", sa.BigInteger(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), server_default="due", nullable=False),
        sa.Column("provider_refund", sa.Text(), nullable=True, comment="the provider's id"),
        sa.Column("attempts", sa.SmallInteger(), server_default="0", nullable=False),
        sa.Column("last_error", sa.Text(), nullable=True),
        _moment("next_at", now=True),
        _moment("created_at", now=True),
        _moment("refunded_at"),
        sa.CheckConstraint("state IN ('due', 'refunded')", name="refund_state"),
        sa.CheckConstraint("(state = 'refunded') = (refunded_at IS NOT NULL)", name="refund_when"),
        sa.CheckConstraint("amount_minor > 0", name="refund_amount"),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("refund_due", "refund", ["next_at"], postgresql_where=sa.text("state = 'due'"))
    op.create_index("refund_payment", "refund", ["payment_id"])
