"""The waiting room: places, the line, wishes for the ballot, codes."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "ballot_wish",
        sa.Column("place_id", sa.Uuid(), nullable=False),
        sa.Column("event_id", sa.Integer(), nullable=False),
        sa.Column(
            "buyer", sa.Text(), nullable=False, comment="the place's: so that a wish is read by one key"
        ),
        sa.Column("want", sa.Text(), nullable=False, comment="canonical, as a request's in the stream"),
        sa.Column(
            "filed_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("clock_timestamp()"),
            nullable=False,
        ),
        sa.PrimaryKeyConstraint("place_id"),
        comment="what the buyer of a place that waits wishes for in the ballot; goes with the place",
    )
    op.create_table(
        "line",
        sa.Column("event_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("lane", sa.Text(), nullable=False),
        sa.Column("position", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("place_id", sa.Uuid(), nullable=False),
        sa.CheckConstraint("position > 0", name="line_from_one"),
        sa.PrimaryKeyConstraint("event_id", "lane", "position"),
        comment="positions that were drawn or given; a row is never changed",
    )
    op.create_index("line_place", "line", ["place_id"], unique=True)
    op.create_table(
        "place",
        sa.Column("id", sa.Uuid(), server_default=sa.text("gen_random_uuid()"), nullable=False),
        sa.Column("event_id", sa.Integer(), nullable=False),
        sa.Column("buyer", sa.Text(), nullable=False),
        sa.Column("lane", sa.Text(), server_default="ordinary", nullable=False),
        sa.Column("state", sa.Text(), server_default="waiting", nullable=False),
        sa.Column(
            "in_draw", sa.Boolean(), nullable=False, comment="joined before the sale began, and stayed"
        ),
        sa.Column(
            "returned",
            sa.Boolean(),
            server_default=sa.text("false"),
            nullable=False,
            comment="was called before",
        ),
        sa.Column("email", sa.Text(), nullable=True, comment="where the buyer is told that it is their turn"),
        sa.Column(
            "joined_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("clock_timestamp()"),
            nullable=False,
        ),
        sa.Column("admitted_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("begin_by", sa.DateTime(timezone=True), nullable=True),
        sa.Column("begun_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("bought_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column(
            "more",
            sa.SmallInteger(),
            server_default="0",
            nullable=False,
            comment="times more time was given",
        ),
        sa.Column(
            "gives_back",
            sa.Boolean(),
            server_default=sa.text("false"),
            nullable=False,
            comment="left after being called and before beginning; the pace has not got that back yet",
        ),
        sa.Column(
            "version",
            sa.BigInteger(),
            server_default="0",
            nullable=False,
            comment="of the room, that changed it",
        ),
        sa.Column(
            "code_sha256",
            sa.LargeBinary(),
            nullable=True,
            comment="the code or invitation it was made by",
        ),
        sa.CheckConstraint(
            "(state = 'admitted') <= (admitted_at IS NOT NULL AND begin_by IS NOT NULL)",
            name="place_admitted",
        ),
        sa.CheckConstraint("(state IN ('waiting', 'admitted')) = (ended_at IS NULL)", name="place_ended"),
        sa.CheckConstraint("lane IN ('ordinary', 'priority')", name="place_lane"),
        sa.CheckConstraint(
            "state IN ('waiting', 'admitted', 'finished', 'expired', 'left')", name="place_state"
        ),
        sa.CheckConstraint("(begun_at IS NULL) = (until IS NULL)", name="place_begun_until"),
        sa.CheckConstraint("more >= 0 AND (more = 0 OR state <> 'waiting')", name="place_more_each_time"),
        sa.CheckConstraint("char_length(email) <= 254", name="place_email"),
        sa.CheckConstraint(
            "NOT gives_back OR (state = 'left' AND begun_at IS NULL)", name="place_gives_back"
        ),
        sa.PrimaryKeyConstraint("id"),
        comment="who waits before the door, and who is inside",
        postgresql_with={"fillfactor": "80"},
    )
    op.create_index(
        "place_buyer",
        "place",
        ["event_id", "buyer"],
        unique=False,
        postgresql_where=sa.text("state = 'expired'"),
    )
    op.create_index(
        "place_changed",
        "place",
        ["event_id", "version"],
        unique=False,
        postgresql_where=sa.text("version > 0"),
    )
    op.create_index(
        "place_giving_back",
        "place",
        ["event_id"],
        unique=False,
        postgresql_where=sa.text("gives_back"),
    )
    op.create_index(
        "place_inside",
        "place",
        [sa.text("(event_id + 0)"), sa.text("COALESCE(bought_at, until, begin_by)")],
        unique=False,
        postgresql_where=sa.text("state = 'admitted'"),
    )
    op.create_index(
        "place_left_lobby",
        "place",
        ["event_id"],
        unique=False,
        postgresql_where=sa.text("in_draw AND state = 'left'"),
    )
    op.create_index(
        "place_live",
        "place",
        ["event_id", "buyer"],
        unique=True,
        postgresql_where=sa.text("state IN ('waiting', 'admitted')"),
    )
    op.create_index(
        "place_returned",
        "place",
        ["event_id", "admitted_at"],
        unique=False,
        postgresql_where=sa.text("state = 'waiting' AND returned"),
    )
    op.create_table(
        "room",
        sa.Column("event_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("policy", sa.Text(), server_default="draw", nullable=False),
        sa.Column("ballot", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.Column("pace", sa.Integer(), nullable=True, comment="buyers a minute"),
        sa.Column("shopping_max", sa.Integer(), nullable=True, comment="admitted and not gone"),
        sa.Column("begin_seconds", sa.Integer(), server_default="180", nullable=False),
        sa.Column("shopping_seconds", sa.Integer(), server_default="900", nullable=False),
        sa.Column(
            "more_begin_max",
            sa.Integer(),
            server_default="3",
            nullable=False,
            comment="times an admission",
        ),
        sa.Column(
            "more_shopping_max",
            sa.Integer(),
            server_default="3",
            nullable=False,
            comment="times an admission",
        ),
        sa.Column("proof", sa.Text(), server_default="busy", nullable=False),
        sa.Column("proof_above_per_minute", sa.Integer(), server_default="600", nullable=False),
        sa.Column("admission", sa.Text(), server_default="running", nullable=False),
        sa.Column("seed", sa.LargeBinary(), nullable=False, comment="nobody's business before drawn_at"),
        sa.Column(
            "seed_sha256", sa.LargeBinary(), nullable=False, comment="published before the lobby begins"
        ),
        sa.Column("lobby_ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("drawn", sa.BigInteger(), nullable=True, comment="places in the draw, of all lanes"),
        sa.Column("drawn_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("ballot_ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("next_position", sa.BigInteger(), server_default="1", nullable=False),
        sa.Column("next_priority", sa.BigInteger(), server_default="1", nullable=False),
        sa.Column("serving", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("serving_priority", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column(
            "joined", sa.BigInteger(), server_default="0", nullable=False, comment="places there ever were"
        ),
        sa.Column(
            "version",
            sa.BigInteger(),
            server_default="0",
            nullable=False,
            comment="of what everybody is told",
        ),
        sa.Column(
            "edition",
            sa.Integer(),
            server_default="0",
            nullable=False,
            comment="of what operators decided",
        ),
        sa.Column(
            "admitted",
            sa.BigInteger(),
            server_default="0",
            nullable=False,
            comment="ever; who returns, once",
        ),
        sa.Column("decided_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column(
            "credit", sa.Float(), server_default="1", nullable=False, comment="of the pace, not used by then"
        ),
        sa.Column(
            "factor",
            sa.Float(),
            server_default="1",
            nullable=False,
            comment="of the pace, where it is slowed",
        ),
        sa.Column(
            "told",
            sa.BigInteger(),
            server_default="0",
            nullable=False,
            comment="outbox rows up to it were read",
        ),
        sa.Column("rate", sa.Float(), nullable=True, comment="ordinary positions called a minute, lately"),
        sa.Column("reason", sa.Text(), nullable=True, comment="why that is less than the pace"),
        sa.Column(
            "step_ms", sa.Float(), nullable=True, comment="how long the owner's last step but one took"
        ),
        sa.Column("message", sa.Text(), nullable=True, comment="to all"),
        sa.Column("message_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column(
            "look",
            postgresql.JSONB(),
            server_default="{}",
            nullable=False,
            comment="the organiser's name, colours, texts",
        ),
        sa.CheckConstraint("admission IN ('running', 'paused', 'stopped')", name="room_admission"),
        sa.CheckConstraint("policy IN ('draw', 'fifo')", name="room_policy"),
        sa.CheckConstraint("proof IN ('off', 'busy', 'always')", name="room_proof"),
        sa.CheckConstraint("(drawn IS NULL) = (lobby_ended_at IS NULL)", name="room_drawn_when"),
        sa.CheckConstraint("begin_seconds BETWEEN 10 AND 3600", name="room_begin"),
        sa.CheckConstraint("drawn_at IS NULL OR drawn IS NOT NULL", name="room_drawn_after_lobby"),
        sa.CheckConstraint("octet_length(seed) = 32 AND seed_sha256 = sha256(seed)", name="room_seed"),
        sa.CheckConstraint("pace BETWEEN 1 AND 1000000", name="room_pace"),
        sa.CheckConstraint(
            "serving BETWEEN 0 AND next_position - 1 AND serving_priority BETWEEN 0 AND next_priority - 1",
            name="room_serves_who_is_there",
        ),
        sa.CheckConstraint("shopping_max BETWEEN 1 AND 1000000", name="room_shopping"),
        sa.CheckConstraint("shopping_seconds BETWEEN 30 AND 86400", name="room_shopping_time"),
        sa.CheckConstraint(
            "more_begin_max BETWEEN 0 AND 20 AND more_shopping_max BETWEEN 0 AND 20", name="room_more_time"
        ),
        sa.PrimaryKeyConstraint("event_id"),
        comment="events with a waiting room; admission changes a row only from the version it read",
        postgresql_with={"fillfactor": "10"},
    )
    op.create_table(
        "room_code",
        sa.Column("event_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("code_sha256", sa.LargeBinary(), nullable=False),
        sa.Column("label", sa.Text(), nullable=False, comment="for whom, in the organiser's words"),
        sa.Column("uses_max", sa.Integer(), server_default="1", nullable=False),
        sa.Column("uses", sa.Integer(), server_default="0", nullable=False),
        sa.Column(
            "created_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("clock_timestamp()"),
            nullable=False,
        ),
        sa.Column("revoked_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint("uses_max > 0 AND uses BETWEEN 0 AND uses_max", name="room_code_uses"),
        sa.PrimaryKeyConstraint("event_id", "code_sha256"),
        comment="presale codes and invitations to the priority lane",
    )
    op.create_table(
        "room_refused",
        sa.Column("event_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("minute", sa.DateTime(timezone=True), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("count", sa.BigInteger(), nullable=False),
        sa.Column(
            "addresses",
            postgresql.JSONB(),
            nullable=False,
            comment="keyed hash: how often; those with most",
        ),
        sa.CheckConstraint("count > 0", name="room_refused_some"),
        sa.PrimaryKeyConstraint("event_id", "minute", "reason"),
        comment="who was turned away from waiting rooms, counted; see store.room.refused",
    )
    op.alter_column("mail", "outbox_id", nullable=True, comment="null: of no row there; see store.mail.Alone")
