"""The truth: every table, with the constraints that keep the laws whatever the application does.

Law 1 (never oversold) is `hold_seat`'s primary key: a seat is in at most one active hold or sale.
For standing areas it is `area_within_capacity`. Law 6 (a hold is its holder's) is the buyer in
every conditional write on `hold`. Law 5 (explained) is `ledger` under `ledger_batch`'s hash chain.

Hot tables have no foreign keys and as few indexes as their reads allow: each costs every decision.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    DateTime,
    Identity,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    SmallInteger,
    Table,
    Text,
    Uuid,
    func,
    text,
)
from sqlalchemy.dialects.postgresql import JSON, JSONB

from store.words import OPERATORS_HOLDS
from store.words import one_of as one_of

metadata = MetaData()


def timestamp(name: str, *, now: bool = False, nullable: bool = False) -> Column[object]:
    """A moment by Postgres' clock; with `now` the one at which the row is written."""
    default = func.clock_timestamp() if now else None
    return Column(name, DateTime(timezone=True), nullable=nullable, server_default=default)


venue = Table(
    "venue",
    metadata,
    Column("id", Integer, Identity(always=True), primary_key=True),
    Column("slug", Text, nullable=False, unique=True),
    Column("name", Text, nullable=False),
    Column("plan", Text, nullable=False, comment="canonical JSON of store.plan.Plan; never changed"),
    Column("plan_sha256", LargeBinary, nullable=False),
    timestamp("created_at", now=True),
)

event = Table(
    "event",
    metadata,
    Column("id", Integer, Identity(always=True), primary_key=True),
    Column("slug", Text, nullable=False, unique=True),
    Column("name", Text, nullable=False),
    Column("venue_id", Integer, nullable=False),
    Column("state", Text, nullable=False, server_default="draft"),
    timestamp("opens_at", nullable=True),
    timestamp("paused_at", nullable=True),
    Column("hold_ttl_seconds", Integer, nullable=False, server_default="480"),
    Column("seats_per_buyer_max", Integer, nullable=False, server_default="8"),
    Column("fast_gate", Boolean, nullable=False, server_default=text("true")),
    timestamp("created_at", now=True),
    Column("extensions_max", Integer, nullable=False, server_default="1"),
    Column("extension_seconds", Integer, nullable=False, server_default="120"),
    Column("offer_ttl_seconds", Integer, nullable=False, server_default="600"),
    Column(
        "limits",
        JSONB,
        nullable=False,
        server_default=text("'{}'"),
        comment="category name: most seats and places of it a buyer may have",
    ),
    Column("tour_id", Integer, nullable=True, comment="the tour it is a date of; set while it is a draft"),
    Column(
        "payment", Text, nullable=False, server_default="none", comment="whether holds are bought with money"
    ),
    Column("late_payment", Text, nullable=False, server_default="refund", comment="see LatePolicy"),
    Column("returns_allowed", Boolean, nullable=False, server_default=text("false"), comment="by buyers"),
    Column("transfers_allowed", Boolean, nullable=False, server_default=text("false"), comment="of tickets"),
    timestamp("starts_at", nullable=True),
    Column(
        "figures_on_page",
        Boolean,
        nullable=False,
        server_default=text("false"),
        comment="its page says how much is sold",
    ),
    timestamp("lobby_opens_at", nullable=True),
    CheckConstraint(one_of("state", "draft", "lobby", "open", "paused", "closed"), name="event_state"),
    CheckConstraint("(state = 'paused') = (paused_at IS NOT NULL)", name="event_paused_since"),
    CheckConstraint("hold_ttl_seconds BETWEEN 1 AND 86400", name="event_hold_ttl"),
    CheckConstraint("seats_per_buyer_max BETWEEN 1 AND 1000", name="event_seats_per_buyer"),
    CheckConstraint("extensions_max BETWEEN 0 AND 20", name="event_extensions"),
    CheckConstraint("extension_seconds BETWEEN 1 AND 3600", name="event_extension_seconds"),
    CheckConstraint("offer_ttl_seconds BETWEEN 1 AND 86400", name="event_offer_ttl"),
    CheckConstraint("jsonb_typeof(limits) = 'object'", name="event_limits"),
    CheckConstraint(one_of("payment", "none", "required"), name="event_payment"),
    CheckConstraint(one_of("late_payment", "refund", "reacquire"), name="event_late_payment"),
)
Index("event_tour", event.c.tour_id, postgresql_where=event.c.tour_id.is_not(None))

tour = Table(
    "tour",
    metadata,
    Column("id", Integer, Identity(always=True), primary_key=True),
    Column("slug", Text, nullable=False, unique=True),
    Column("name", Text, nullable=False),
    Column("seats_per_buyer_max", Integer, nullable=False, comment="across all its events; never changed"),
    timestamp("created_at", now=True),
    CheckConstraint("seats_per_buyer_max BETWEEN 1 AND 1000", name="tour_seats_per_buyer"),
    comment="dates of one show that share a limit per buyer",
)

tour_buyer = Table(
    "tour_buyer",
    metadata,
    Column("tour_id", Integer, primary_key=True, autoincrement=False),
    Column("buyer", Text, primary_key=True),
    comment="a row to lock for each buyer a batch of one of the tour's events decides about",
)

event_price = Table(
    "event_price",
    metadata,
    Column("event_id", Integer, primary_key=True, autoincrement=False),
    Column("fee_minor", BigInteger, nullable=False),
    Column("fee_basis_points", Integer, nullable=False),
    Column("tax_basis_points", Integer, nullable=False),
    Column("tax_included", Boolean, nullable=False),
    CheckConstraint("fee_minor BETWEEN 0 AND 1000000000", name="event_price_fee"),
    CheckConstraint("fee_basis_points BETWEEN 0 AND 10000", name="event_price_fee_part"),
    CheckConstraint("tax_basis_points BETWEEN 0 AND 10000", name="event_price_tax"),
    comment="fees and tax of an event that has any; see store.prices",
)

event_plan = Table(
    "event_plan",
    metadata,
    Column("event_id", Integer, primary_key=True, autoincrement=False),
    Column(
        "version",
        Integer,
        primary_key=True,
        autoincrement=False,
        server_default="0",
        comment="0: settled before the sale; each move while it runs makes the next",
    ),
    Column("plan", Text, nullable=False, comment="the venue's with some categories moved, as canonical JSON"),
    Column("plan_sha256", LargeBinary, nullable=False),
    Column(
        "ledger_at",
        BigInteger,
        nullable=True,
        comment="batch_no << 16 | position of its fact: holds above it were given by this plan",
    ),
    Column("moved", JSON, nullable=True, comment="seats and areas by number, with the category they had"),
    CheckConstraint("(version = 0) = (moved IS NULL)", name="event_plan_moved"),
    CheckConstraint("version BETWEEN 0 AND 100", name="event_plan_versions"),
    comment="plans of events whose categories are not all the venue's",
)

seat = Table(
    "seat",
    metadata,
    Column("event_id", Integer, primary_key=True),
    Column("seat_no", Integer, primary_key=True, comment="index in the venue's plan"),
    Column("state", Text, nullable=False, server_default="available"),
    Column("hold_id", BigInteger, nullable=True, comment="the hold or order that has it"),
    CheckConstraint(one_of("state", "available", "held", "sold", "blocked"), name="seat_state"),
    CheckConstraint("(state IN ('held', 'sold')) = (hold_id IS NOT NULL)", name="seat_held_by"),
    postgresql_with={"fillfactor": "50"},  # a hold rewrites the row in its own page (HOT)
)

area = Table(
    "area",
    metadata,
    Column("event_id", Integer, primary_key=True),
    Column("area_no", Integer, primary_key=True, comment="index in the venue's plan"),
    Column("capacity", Integer, nullable=False),
    Column("held", Integer, nullable=False, server_default="0"),
    Column("sold", Integer, nullable=False, server_default="0"),
    Column("blocked", Integer, nullable=False, server_default="0"),
    CheckConstraint("held >= 0 AND sold >= 0 AND blocked >= 0", name="area_counts_not_negative"),
    CheckConstraint("held + sold + blocked <= capacity", name="area_within_capacity"),
    postgresql_with={"fillfactor": "10"},
)

hold = Table(
    "hold",
    metadata,
    Column("event_id", Integer, primary_key=True),
    Column("hold_id", BigInteger, primary_key=True),
    Column("buyer", Text, nullable=False),
    Column("request_id", Text, nullable=False),
    Column("state", Text, nullable=False, server_default="active"),
    Column("quantity", SmallInteger, nullable=False, comment="seats and standing places together"),
    timestamp("expires_at"),
    timestamp("paid_at", nullable=True),
    Column(
        "extensions",
        SmallInteger,
        nullable=False,
        server_default="0",
        comment="how often its holder extended it",
    ),
    Column("kind", Text, nullable=False, server_default="buyer", comment="buyer, or how an operator sold it"),
    Column("tour_id", Integer, nullable=True, comment="the event's tour, if it is a date of one"),
    CheckConstraint(one_of("state", "active", "paid", "released", "expired", "refunded"), name="hold_state"),
    CheckConstraint("(state IN ('paid', 'refunded')) = (paid_at IS NOT NULL)", name="hold_paid_when"),
    CheckConstraint(one_of("kind", "buyer", "complimentary", "box_office"), name="hold_kind"),
    CheckConstraint(f"(kind = 'buyer') = (hold_id < {OPERATORS_HOLDS})", name="hold_numbered_by_kind"),
    CheckConstraint("quantity > 0", name="hold_not_empty"),
    CheckConstraint("extensions >= 0", name="hold_extensions"),
    postgresql_with={"fillfactor": "80"},
)
Index("hold_tour", hold.c.tour_id, hold.c.buyer, postgresql_where=hold.c.tour_id.is_not(None))
Index("hold_active", hold.c.event_id, hold.c.expires_at, postgresql_where=hold.c.state == "active")

hold_seat = Table(
    "hold_seat",
    metadata,
    Column("event_id", Integer, primary_key=True),
    Column("seat_no", Integer, primary_key=True),
    Column("hold_id", BigInteger, nullable=False),
    comment="seats of active and paid holds; the primary key is law 1",
)

hold_area = Table(
    "hold_area",
    metadata,
    Column("event_id", Integer, primary_key=True),
    Column("hold_id", BigInteger, primary_key=True),
    Column("area_no", Integer, primary_key=True),
    Column("quantity", Integer, nullable=False),
    CheckConstraint("quantity > 0", name="hold_area_not_empty"),
)

waiting = Table(
    "waiting",
    metadata,
    Column("event_id", Integer, primary_key=True),
    Column(
        "wait_id", BigInteger, primary_key=True, autoincrement=False, comment="the list's order; see WaitId"
    ),
    Column("buyer", Text, nullable=False),
    Column("request_id", Text, nullable=False),
    Column("state", Text, nullable=False, server_default="waiting"),
    Column("hold_id", BigInteger, nullable=True, comment="the offer: a hold like any other"),
    CheckConstraint(one_of("state", "waiting", "offered", "left"), name="waiting_state"),
    CheckConstraint("(state = 'offered') = (hold_id IS NOT NULL)", name="waiting_offered_what"),
    comment="requests on the waiting list; what they want is in the ledger at their number",
)
Index("waiting_buyer", waiting.c.event_id, waiting.c.buyer)
Index("waiting_list", waiting.c.event_id, waiting.c.wait_id, postgresql_where=waiting.c.state == "waiting")

seat_history = Table(
    "seat_history",
    metadata,
    Column("event_id", Integer, nullable=False),
    Column("seat_no", Integer, nullable=False),
    timestamp("at", now=True),
    Column("state", Text, nullable=False, comment="what the seat became"),
    Column("hold_id", BigInteger, nullable=True, comment="the hold that had or got it"),
    Column("by", Text, nullable=False, comment="allocator, buyer, or an operator's name"),
    comment="append-only (a trigger refuses anything else), in the transaction of each change",
)
Index("seat_history_seat", seat_history.c.event_id, seat_history.c.seat_no)

fact = Table(
    "fact",
    metadata,
    Column("id", BigInteger, Identity(always=True), primary_key=True),
    Column("event_id", Integer, nullable=False),
    Column("kind", Text, nullable=False),
    Column("hold_id", BigInteger, nullable=True),
    Column("body", JSON, nullable=True),
    CheckConstraint(
        one_of(
            "kind",
            "paid",
            "released",
            "policy",
            "blocked",
            "unblocked",
            "extended",
            "left",
            "sold",
            "returned",
            "outage",
            "recategorised",
        ),
        name="fact_kind",
    ),
    comment="changes the allocator has not consumed yet",
)
Index("fact_event", fact.c.event_id)

audit = Table(
    "audit",
    metadata,
    Column("id", BigInteger, Identity(always=True), primary_key=True),
    Column("event_id", Integer, nullable=True, comment="null: about no event"),
    timestamp("at", now=True),
    Column("who", Text, nullable=False, comment="the operator's name"),
    Column("why", Text, nullable=False),
    Column("what", JSON, nullable=False, comment="the change, in guids and hold ids"),
    CheckConstraint("char_length(who) BETWEEN 1 AND 100", name="audit_who"),
    CheckConstraint("char_length(why) BETWEEN 1 AND 200", name="audit_why"),
    comment="append-only (a trigger refuses anything else), in the transaction of each operator's change",
)
Index("audit_event", audit.c.event_id, audit.c.id)

event_cursor = Table(
    "event_cursor",
    metadata,
    Column("event_id", Integer, primary_key=True, autoincrement=False),
    Column("epoch", BigInteger, nullable=False, server_default="0"),
    Column("owner", Uuid, nullable=True, comment="random per takeover"),
    Column("batch_no", BigInteger, nullable=False, server_default="0"),
    Column("arrival", Text, nullable=False, server_default="0-0", comment="everything up to here is decided"),
    timestamp("batch_time", now=True),
    comment="the fence: one compare-and-set per batch",
    postgresql_with={"fillfactor": "10"},
)

lease = Table(
    "lease",
    metadata,
    Column("event_id", Integer, primary_key=True, autoincrement=False),
    Column("owner", Uuid, nullable=True),
    Column("worker", Text, nullable=True, comment="host and process, for people"),
    Column("backend_pid", Integer, nullable=True),
    timestamp("backend_start", nullable=True),
    timestamp("renewed_at", nullable=True),
    timestamp("given_until", nullable=True),
    comment="who may allocate; renewed apart from the cursor row so neither waits for the other",
    postgresql_with={"fillfactor": "10"},
)

ledger_batch = Table(
    "ledger_batch",
    metadata,
    Column("event_id", Integer, primary_key=True),
    Column("batch_no", BigInteger, primary_key=True),
    Column("epoch", BigInteger, nullable=False),
    timestamp("batch_time"),
    Column("arrival", Text, nullable=False, comment="cursor after this batch"),
    Column("code_version", Integer, nullable=False, comment="of the decision function"),
    Column("row_digests", LargeBinary, nullable=False, comment="16 bytes a row, in position order"),
    Column("hash", LargeBinary, nullable=False, comment="sha256 over the previous hash and this batch"),
)

ledger = Table(
    "ledger",
    metadata,
    Column("event_id", Integer, primary_key=True),
    Column("batch_no", BigInteger, primary_key=True),
    Column("position", Integer, primary_key=True),
    Column("kind", Text, nullable=False),
    Column("arrival", Text, nullable=True, comment="requests: the arrival that counts"),
    Column("buyer", Text, nullable=True),
    Column("request_id", Text, nullable=True),
    Column("input", JSON, nullable=False, comment="requests: the want; facts: the fact"),
    Column("outcome", Text, nullable=False),
    Column("result", JSON, nullable=False),
    CheckConstraint(one_of("kind", "request", "fact", "expired", "offer"), name="ledger_kind"),
)
Index(  # an expression, so that no plan mistakes the primary key's first column for a way to find a key
    "ledger_key",
    text("(event_id + 0)"),
    ledger.c.buyer,
    ledger.c.request_id,
    unique=True,
    postgresql_where=text("kind = 'request' AND outcome <> 'conflict'"),
)
