"""Tables of the waiting room. Postgres is the owner of every place; Redis only carries news of it.

One place per buyer is `place_live`. No position twice is `line`'s primary key, no place twice in line
`line_place`.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    DateTime,
    Float,
    Index,
    Integer,
    LargeBinary,
    SmallInteger,
    Table,
    Text,
    Uuid,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB

from store.room.words import DUE, LIVE, Admission, Lane, PlaceState, Proof, RoomPolicy
from store.schema import metadata, one_of, timestamp

room = Table(
    "room",
    metadata,
    Column("event_id", Integer, primary_key=True, autoincrement=False),
    Column("policy", Text, nullable=False, server_default="draw"),
    Column("ballot", Boolean, nullable=False, server_default=text("false")),
    Column("pace", Integer, nullable=True, comment="buyers a minute"),
    Column("shopping_max", Integer, nullable=True, comment="admitted and not gone"),
    Column("begin_seconds", Integer, nullable=False, server_default="180"),
    Column("shopping_seconds", Integer, nullable=False, server_default="900"),
    Column("more_begin_max", Integer, nullable=False, server_default="3", comment="times an admission"),
    Column("more_shopping_max", Integer, nullable=False, server_default="3", comment="times an admission"),
    Column("proof", Text, nullable=False, server_default="busy"),
    Column("proof_above_per_minute", Integer, nullable=False, server_default="600"),
    Column("admission", Text, nullable=False, server_default="running"),
    Column("seed", LargeBinary, nullable=False, comment="nobody's business before drawn_at"),
    Column("seed_sha256", LargeBinary, nullable=False, comment="published before the lobby begins"),
    timestamp("lobby_ended_at", nullable=True),
    Column("drawn", BigInteger, nullable=True, comment="places in the draw, of all lanes"),
    timestamp("drawn_at", nullable=True),
    timestamp("ballot_ended_at", nullable=True),
    Column("next_position", BigInteger, nullable=False, server_default="1"),
    Column("next_priority", BigInteger, nullable=False, server_default="1"),
    Column("serving", BigInteger, nullable=False, server_default="0"),
    Column("serving_priority", BigInteger, nullable=False, server_default="0"),
    Column("joined", BigInteger, nullable=False, server_default="0", comment="places there ever were"),
    Column("version", BigInteger, nullable=False, server_default="0", comment="of what everybody is told"),
    Column("edition", Integer, nullable=False, server_default="0", comment="of what operators decided"),
    Column("admitted", BigInteger, nullable=False, server_default="0", comment="ever; who returns, once"),
    timestamp("decided_at", nullable=True),
    Column("credit", Float, nullable=False, server_default="1", comment="of the pace, not used by then"),
    Column("factor", Float, nullable=False, server_default="1", comment="of the pace, where it is slowed"),
    Column("told", BigInteger, nullable=False, server_default="0", comment="outbox rows up to it were read"),
    Column("rate", Float, nullable=True, comment="ordinary positions called a minute, lately"),
    Column("reason", Text, nullable=True, comment="why that is less than the pace"),
    Column("step_ms", Float, nullable=True, comment="how long the owner's last step but one took"),
    Column("message", Text, nullable=True, comment="to all"),
    timestamp("message_at", nullable=True),
    Column(
        "look",
        JSONB,
        nullable=False,
        server_default=text("'{}'"),
        comment="the organiser's name, colours, texts",
    ),
    CheckConstraint(one_of("policy", *RoomPolicy), name="room_policy"),
    CheckConstraint(one_of("admission", *Admission), name="room_admission"),
    CheckConstraint(one_of("proof", *Proof), name="room_proof"),
    CheckConstraint("octet_length(seed) = 32 AND seed_sha256 = sha256(seed)", name="room_seed"),
    CheckConstraint("(drawn IS NULL) = (lobby_ended_at IS NULL)", name="room_drawn_when"),
    CheckConstraint("drawn_at IS NULL OR drawn IS NOT NULL", name="room_drawn_after_lobby"),
    CheckConstraint("pace BETWEEN 1 AND 1000000", name="room_pace"),
    CheckConstraint("shopping_max BETWEEN 1 AND 1000000", name="room_shopping"),
    CheckConstraint("begin_seconds BETWEEN 10 AND 3600", name="room_begin"),
    CheckConstraint("shopping_seconds BETWEEN 30 AND 86400", name="room_shopping_time"),
    CheckConstraint(
        "more_begin_max BETWEEN 0 AND 20 AND more_shopping_max BETWEEN 0 AND 20", name="room_more_time"
    ),
    CheckConstraint(
        "serving BETWEEN 0 AND next_position - 1 AND serving_priority BETWEEN 0 AND next_priority - 1",
        name="room_serves_who_is_there",
    ),
    comment="events with a waiting room; admission changes a row only from the version it read",
    postgresql_with={"fillfactor": "10"},
)

place = Table(
    "place",
    metadata,
    Column("id", Uuid, primary_key=True, server_default=text("gen_random_uuid()")),
    Column("event_id", Integer, nullable=False),
    Column("buyer", Text, nullable=False),
    Column("lane", Text, nullable=False, server_default="ordinary"),
    Column("state", Text, nullable=False, server_default="waiting"),
    Column("in_draw", Boolean, nullable=False, comment="joined before the sale began, and stayed"),
    Column("returned", Boolean, nullable=False, server_default=text("false"), comment="was called before"),
    Column("email", Text, nullable=True, comment="where the buyer is told that it is their turn"),
    timestamp("joined_at", now=True),
    timestamp("admitted_at", nullable=True),
    timestamp("begin_by", nullable=True),
    timestamp("begun_at", nullable=True),
    timestamp("until", nullable=True),
    timestamp("ended_at", nullable=True),
    timestamp("bought_at", nullable=True),
    Column("more", SmallInteger, nullable=False, server_default="0", comment="times more time was given"),
    Column(
        "gives_back",
        Boolean,
        nullable=False,
        server_default=text("false"),
        comment="left after being called and before beginning; the pace has not got that back yet",
    ),
    Column("version", BigInteger, nullable=False, server_default="0", comment="of the room, that changed it"),
    Column("code_sha256", LargeBinary, nullable=True, comment="the code or invitation it was made by"),
    CheckConstraint(one_of("state", *PlaceState), name="place_state"),
    CheckConstraint(one_of("lane", *Lane), name="place_lane"),
    CheckConstraint("char_length(email) <= 254", name="place_email"),
    CheckConstraint(
        "(state = 'admitted') <= (admitted_at IS NOT NULL AND begin_by IS NOT NULL)", name="place_admitted"
    ),
    CheckConstraint("(begun_at IS NULL) = (until IS NULL)", name="place_begun_until"),
    CheckConstraint("more >= 0 AND (more = 0 OR state <> 'waiting')", name="place_more_each_time"),
    CheckConstraint(f"({one_of('state', *LIVE)}) = (ended_at IS NULL)", name="place_ended"),
    CheckConstraint("NOT gives_back OR (state = 'left' AND begun_at IS NULL)", name="place_gives_back"),
    Index(  # an expression, so that no plan takes the index of all live places for a way to find these
        "place_inside", text("(event_id + 0)"), text(DUE), postgresql_where=text("state = 'admitted'")
    ),
    comment="who waits before the door, and who is inside",
    postgresql_with={"fillfactor": "80"},
)
Index(
    "place_live",
    place.c.event_id,
    place.c.buyer,
    unique=True,
    postgresql_where=text(one_of("state", *LIVE)),
)
Index("place_buyer", place.c.event_id, place.c.buyer, postgresql_where=text("state = 'expired'"))
Index(
    "place_returned",
    place.c.event_id,
    place.c.admitted_at,
    postgresql_where=text("state = 'waiting' AND returned"),
)
Index(
    "place_left_lobby", place.c.event_id, postgresql_where=text("in_draw AND state = 'left'")
)  # joins wait while these are looked for
Index("place_giving_back", place.c.event_id, postgresql_where=text("gives_back"))
Index("place_changed", place.c.event_id, place.c.version, postgresql_where=text("version > 0"))

line = Table(
    "line",
    metadata,
    Column("event_id", Integer, primary_key=True, autoincrement=False),
    Column("lane", Text, primary_key=True),
    Column("position", BigInteger, primary_key=True, autoincrement=False),
    Column("place_id", Uuid, nullable=False),
    CheckConstraint("position > 0", name="line_from_one"),
    comment="positions that were drawn or given; a row is never changed",
)
Index("line_place", line.c.place_id, unique=True)

ballot_wish = Table(
    "ballot_wish",
    metadata,
    Column("place_id", Uuid, primary_key=True),
    Column("event_id", Integer, nullable=False),
    Column("buyer", Text, nullable=False, comment="the place's: so that a wish is read by one key"),
    Column("want", Text, nullable=False, comment="canonical, as a request's in the stream"),
    timestamp("filed_at", now=True),
    comment="what the buyer of a place that waits wishes for in the ballot; goes with the place",
)

room_code = Table(
    "room_code",
    metadata,
    Column("event_id", Integer, primary_key=True, autoincrement=False),
    Column("code_sha256", LargeBinary, primary_key=True),
    Column("label", Text, nullable=False, comment="for whom, in the organiser's words"),
    Column("uses_max", Integer, nullable=False, server_default="1"),
    Column("uses", Integer, nullable=False, server_default="0"),
    timestamp("created_at", now=True),
    timestamp("revoked_at", nullable=True),
    CheckConstraint("uses_max > 0 AND uses BETWEEN 0 AND uses_max", name="room_code_uses"),
    comment="presale codes and invitations to the priority lane",
)

room_refused = Table(
    "room_refused",
    metadata,
    Column("event_id", Integer, primary_key=True, autoincrement=False),
    Column("minute", DateTime(timezone=True), primary_key=True),
    Column("reason", Text, primary_key=True),
    Column("count", BigInteger, nullable=False),
    Column("addresses", JSONB, nullable=False, comment="keyed hash: how often; those with most"),
    CheckConstraint("count > 0", name="room_refused_some"),
    comment="who was turned away from waiting rooms, counted; see store.room.refused",
)
