"""Keys as rows: only digests are kept, names are one key's, and somebody can always make keys."""

from __future__ import annotations

import threading

import psycopg
import pytest

from store import audit, events
from store.audit import Said
from store.errors import BadRequest, Conflicted, NotFound
from store.operators import keys
from store.operators.words import ENVIRONMENT, Role, digest_of, read_text
from store.venues.make import make
from store.venues.rows import save_venue

SAID = Said("olga", "a new colleague")


@pytest.fixture
def conn(database_url):
    with psycopg.connect(database_url, autocommit=True) as connection:
        yield connection


@pytest.fixture
def gig(conn):
    plan = make("arena", 10)
    return events.create_event(conn, "gig", "gig", save_venue(conn, "arena", plan), plan)


def create(conn, name="anna", role=Role.OPERATOR, **more):
    return keys.create(conn, name, role, SAID, **more)


def rows_of(conn):
    return [row.what["change"] for row in audit.read_all(conn)]


def test_of_a_secret_only_its_digest_is_kept(conn):
    made = create(conn)
    written = read_text(made.secret)
    assert written is not None
    assert written.id == made.key.id
    row = conn.execute("SELECT operator_key::text, digest FROM operator_key").fetchone()
    assert row[1] == written.digest == digest_of(made.secret.split("_", 2)[2])
    assert made.secret.split("_", 2)[2] not in row[0]
    assert "digest" not in keys.Key.__struct_fields__


def test_a_key_says_whose_it_is_what_it_may_and_until_when(conn, gig):
    key = create(conn, "  Anna B. ", Role.VIEWER, events=["gig"], expires_in_days=30).key
    assert (key.name, key.role, key.events, key.state) == ("Anna B.", "viewer", ["gig"], "active")
    assert (key.created_by, (key.expires_at - key.created_at).days) == ("olga", 30)
    assert keys.get(conn, key.id) == key
    assert keys.list_keys(conn) == [key]


@pytest.mark.parametrize(
    ("name", "role", "more"),
    [
        ("", "viewer", {}),
        (" ", "viewer", {}),
        ("a" * 41, "viewer", {}),
        ("anna (box office)", "viewer", {}),
        ("an\nna", "viewer", {}),
        ("an\0na", "viewer", {}),
        (ENVIRONMENT, "owner", {}),
        ("Allocator", "owner", {}),
        ("anna", "admin", {}),
        ("anna", "", {}),
        ("anna", "viewer", {"expires_in_days": 0}),
        ("anna", "viewer", {"expires_in_days": 367}),
        ("anna", "viewer", {"events": []}),
        ("anna", "viewer", {"events": ["gig"] * 101}),
    ],
)
def test_what_is_no_key_is_refused_and_leaves_nothing(conn, gig, name, role, more):
    with pytest.raises(BadRequest) as refused:
        create(conn, name, role, **more)
    assert refused.value.code == "invalid_key"
    assert (keys.list_keys(conn), audit.read_all(conn)) == ([], [])


@pytest.mark.parametrize("event", ["none", "", "gi\0g"])
def test_a_key_for_an_event_that_is_not_there_is_refused(conn, gig, event):
    with pytest.raises(NotFound) as refused:
        create(conn, events=["gig", event])
    assert refused.value.code == "unknown_event"


def test_of_living_keys_each_has_a_name_of_its_own(conn):
    first = create(conn, "Anna").key
    with pytest.raises(Conflicted) as refused:
        create(conn, "anna")
    assert refused.value.code == "key_exists"
    keys.revoke(conn, first.id, SAID, keep_an_owner=True)
    assert create(conn, "anna").key.id != first.id


def test_there_are_only_so_many_keys(conn, monkeypatch):
    monkeypatch.setattr(keys, "KEYS_MAX", 1)
    create(conn)
    with pytest.raises(Conflicted) as refused:
        create(conn, "bob")
    assert refused.value.code == "too_many_operator_keys"


def test_a_rotated_key_has_another_secret_and_the_one_before_for_as_long_as_is_said(conn):
    first = create(conn)
    second = keys.rotate(conn, first.key.id, SAID, grace_seconds=60)
    assert second.secret != first.secret
    assert (second.key.id, second.key.name) == (first.key.id, first.key.name)
    until, rotated = second.key.previous_until, second.key.rotated_at
    assert until is not None
    assert rotated is not None
    assert 59 <= (until - rotated).total_seconds() <= 61
    third = keys.rotate(conn, first.key.id, SAID)
    assert third.key.previous_until is None
    kept = conn.execute("SELECT digest, previous_digest FROM operator_key").fetchone()
    written = read_text(third.secret)
    assert written is not None
    assert kept == (written.digest, None)


@pytest.mark.parametrize("grace", [-1, 7 * 86_400 + 1])
def test_a_grace_out_of_bounds_is_refused(conn, grace):
    with pytest.raises(BadRequest):
        keys.rotate(conn, create(conn).key.id, SAID, grace_seconds=grace)


def test_what_is_over_is_not_rotated(conn):
    gone, old = create(conn, "anna").key, create(conn, "bob", expires_in_days=1).key
    keys.revoke(conn, gone.id, SAID, keep_an_owner=True)
    conn.execute("UPDATE operator_key SET expires_at = now() - interval '1 s' WHERE id = %s", [old.id])
    for key, code in ((gone, "key_revoked"), (old, "key_expired")):
        with pytest.raises(Conflicted) as refused:
            keys.rotate(conn, key.id, SAID)
        assert refused.value.code == code


def test_revoking_is_done_once_and_says_by_whom(conn):
    key = create(conn).key
    revoked = keys.revoke(conn, key.id, SAID, keep_an_owner=True)
    assert (revoked.state, revoked.revoked_by) == ("revoked", "olga")
    assert keys.revoke(conn, key.id, Said("bob", "again"), keep_an_owner=True) == revoked
    assert keys.list_keys(conn) == []
    assert keys.list_keys(conn, revoked=True) == [revoked]
    assert rows_of(conn) == ["revoke key", "create key"]


def test_the_last_owner_of_everything_stays(conn, gig):
    first = create(conn, "first", Role.OWNER).key
    create(conn, "of one event", Role.OWNER, events=["gig"])
    late = create(conn, "late", Role.OWNER, expires_in_days=1).key
    conn.execute("UPDATE operator_key SET expires_at = now() - interval '1 s' WHERE id = %s", [late.id])
    with pytest.raises(Conflicted) as refused:
        keys.revoke(conn, first.id, SAID, keep_an_owner=True)
    assert refused.value.code == "last_owner"
    create(conn, "second", Role.OWNER)
    assert keys.revoke(conn, first.id, SAID, keep_an_owner=True).state == "revoked"


def test_where_there_is_another_way_in_the_last_owner_can_go(conn):
    key = create(conn, "first", Role.OWNER).key
    assert keys.revoke(conn, key.id, SAID, keep_an_owner=False).state == "revoked"


def test_two_owners_who_revoke_each_other_at_once_are_not_both_gone(conn, database_url):
    both = [create(conn, name, Role.OWNER).key.id for name in ("first", "second")]
    ready, refused = threading.Barrier(2), []

    def go(key_id):
        with psycopg.connect(database_url, autocommit=True) as mine:
            ready.wait()
            try:
                keys.revoke(mine, key_id, SAID, keep_an_owner=True)
            except Conflicted as error:
                refused.append(error.code)

    threads = [threading.Thread(target=go, args=(key_id,)) for key_id in both]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert refused == ["last_owner"]
    assert len(keys.list_keys(conn)) == 1


def test_a_key_is_found_by_its_name_or_number(conn):
    key = create(conn, "Anna").key
    assert keys.named(conn, "anna") == keys.named(conn, str(key.id)) == key
    with pytest.raises(NotFound, match="There are: Anna"):
        keys.named(conn, "bob")


def test_each_change_is_in_the_audit_without_any_secret(conn, gig):
    made = create(conn, events=["gig"])
    rotated = keys.rotate(conn, made.key.id, SAID)
    keys.revoke(conn, made.key.id, SAID, keep_an_owner=True)
    rows = audit.read_all(conn)
    assert [row.what["change"] for row in rows] == ["revoke key", "rotate key", "create key"]
    assert {(row.who, row.why, row.event) for row in rows} == {("olga", "a new colleague", None)}
    written = str(conn.execute("SELECT string_agg(audit::text, '') FROM audit").fetchone())
    for secret in (made.secret, rotated.secret):
        assert secret.split("_", 2)[2] not in written
