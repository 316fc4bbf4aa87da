"""Tables of the second phase. Those of the sale itself are in `store.schema`.

No two payments for one order: `payment_order`. No two open payments for one hold: `payment_open`. Never more
given back than came in: `payment_refunds`. A provider's notice counts once: `payment_notice`'s key.
"""

from __future__ import annotations

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Identity,
    Index,
    Integer,
    SmallInteger,
    Table,
    Text,
    text,
)
from sqlalchemy.dialects.postgresql import ARRAY

from store.payments.states import OPEN, UNPAID, PaymentState
from store.schema import metadata, one_of, timestamp

payment = Table(
    "payment",
    metadata,
    Column("id", BigInteger, Identity(always=True), primary_key=True),
    Column("event_id", Integer, nullable=False),
    Column("hold_id", BigInteger, nullable=False, comment="the hold it was begun for"),
    Column("order_id", BigInteger, nullable=True, comment="the hold it bought: another where it came late"),
    Column("buyer", Text, nullable=False),
    Column("email", Text, nullable=True, comment="where its buyer wants to hear of it"),
    Column("provider", Text, nullable=False),
    Column("intent", Text, nullable=True, comment="the provider's id; null until the provider has said it"),
    Column("checkout", JSON, nullable=True, comment="how its buyer pays: {url} or {client_secret}"),
    Column("state", Text, nullable=False, server_default=PaymentState.CREATED.value),
    Column("currency", Text, nullable=False),
    Column("amount_minor", BigInteger, nullable=False),
    Column("fee_minor", BigInteger, nullable=False, comment="of the amount: the organiser's fees"),
    Column("tax_minor", BigInteger, nullable=False, comment="of the amount: tax"),
    Column("charged", JSON, nullable=False, comment="what the hold had, each with its price; Charged"),
    Column(
        "quantity", SmallInteger, nullable=False, comment="of the hold; has it another, the amount is wrong"
    ),
    Column("seats", ARRAY(Integer), nullable=False, comment="the hold's, by number"),
    Column("declines", SmallInteger, nullable=False, server_default="0"),
    Column("reason", Text, nullable=True, comment="why the money goes back"),
    timestamp("created_at", now=True),
    timestamp("succeeded_at", nullable=True),
    Column(
        "intent_ended", Boolean, nullable=False, server_default=text("false"), comment="at the provider too"
    ),
    Column("refund_due_minor", BigInteger, nullable=False, server_default="0", comment="and not yet given"),
    Column("refunded_minor", BigInteger, nullable=False, server_default="0"),
    Column("provider_fee_minor", BigInteger, nullable=False, server_default="0"),
    CheckConstraint(one_of("state", *PaymentState), name="payment_state"),
    CheckConstraint(
        f"(succeeded_at IS NULL) = ({one_of('state', *sorted(UNPAID))})", name="payment_succeeded_when"
    ),
    CheckConstraint("state <> 'succeeded' OR order_id IS NOT NULL", name="payment_has_seats"),
    CheckConstraint("state <> 'late' OR order_id IS NULL", name="payment_late_has_none"),
    CheckConstraint("amount_minor > 0", name="payment_amount"),
    CheckConstraint("quantity > 0", name="payment_not_empty"),
    CheckConstraint(
        "refund_due_minor >= 0 AND refunded_minor >= 0 AND refund_due_minor + refunded_minor <= amount_minor",
        name="payment_refunds",
    ),
    CheckConstraint(
        "(state = 'refunded') = (refunded_minor = amount_minor)"
        " AND (state = 'refund_due') <= (refund_due_minor + refunded_minor = amount_minor)",
        name="payment_all_refunded",
    ),
)
Index("payment_intent", payment.c.provider, payment.c.intent, unique=True)
Index(
    "payment_open",
    payment.c.event_id,
    payment.c.hold_id,
    unique=True,
    postgresql_where=text(one_of("state", *sorted(OPEN))),
)
Index(
    "payment_order",
    payment.c.event_id,
    payment.c.order_id,
    unique=True,
    postgresql_where=payment.c.order_id.is_not(None),
)
Index("payment_hold", payment.c.event_id, payment.c.hold_id)
Index("payment_late", payment.c.id, postgresql_where=payment.c.state == "late")
Index(
    "payment_not_ended",
    payment.c.id,
    postgresql_where=text("state IN ('canceled', 'created', 'failed') AND NOT intent_ended"),
)

refund = Table(
    "refund",
    metadata,
    Column("id", BigInteger, Identity(always=True), primary_key=True),
    Column("payment_id", BigInteger, nullable=False),
    Column("event_id", Integer, nullable=False),
    Column("amount_minor", BigInteger, nullable=False),
    Column("reason", Text, nullable=False),
    Column("state", Text, nullable=False, server_default="due"),
    Column("provider_refund", Text, nullable=True, comment="the provider's id"),
    Column("attempts", SmallInteger, nullable=False, server_default="0"),
    Column("last_error", Text, nullable=True),
    timestamp("next_at", now=True),
    timestamp("created_at", now=True),
    timestamp("refunded_at", nullable=True),
    CheckConstraint(one_of("state", "due", "refunded"), name="refund_state"),
    CheckConstraint("(state = 'refunded') = (refunded_at IS NOT NULL)", name="refund_when"),
    CheckConstraint("amount_minor > 0", name="refund_amount"),
)
Index("refund_due", refund.c.next_at, postgresql_where=refund.c.state == "due")
Index("refund_payment", refund.c.payment_id)

payment_notice = Table(
    "payment_notice",
    metadata,
    Column("provider", Text, primary_key=True),
    Column("notice_id", Text, primary_key=True, comment="the provider's id of what it told"),
    Column("payment_id", BigInteger, nullable=False),
    Column("kind", Text, nullable=False),
    Column("became", Text, nullable=False, comment="the payment's state after it"),
    timestamp("at", now=True),
    comment="what providers told and was acted on, once each",
)
Index("payment_notice_payment", payment_notice.c.payment_id)

outbox = Table(
    "outbox",
    metadata,
    Column("event_id", Integer, primary_key=True),
    Column("number", BigInteger, primary_key=True, comment="1, 2, 3 … of the event; see store.outbox"),
    Column("id", BigInteger, Identity(always=True), nullable=False, comment="what the row is called outside"),
    Column("kind", Text, nullable=False),
    Column("body", JSON, nullable=False),
    timestamp("at", now=True),
    comment="what the world outside is told, written by the transaction that made it true",
)

Index("outbox_id", outbox.c.id, unique=True)

outbox_count = Table(
    "outbox_count",
    metadata,
    Column("event_id", Integer, primary_key=True, autoincrement=False),
    Column("rows", BigInteger, nullable=False, comment="the number of the event's last row"),
    comment="locked by who writes an event's rows until it commits",
    postgresql_with={"fillfactor": "10"},
)
