"""A backup is whole or it is none, and comes back whole or not at all."""

from __future__ import annotations

import contextlib
import subprocess
import zipfile

import msgspec
import psycopg
import pytest

from allocator import replay
from onsale.backup import make as making
from onsale.backup import restore as restoring
from onsale.backup.archive import MANIFEST, BackupFailed, BackupNotGood, Manifest, read_manifest
from onsale.backup.make import make, rows_in
from onsale.backup.restore import BATCHES, LEFT_OUT, restore
from store import migrate
from tests.onsale.backup.conftest import silent

SAME_BUT_FOR = {*LEFT_OUT, "audit", "ledger_batch", "event_cursor", "lease", "alembic_version", "fleet_turn"}


def all_rows(database_url):
    """Of each table its rows as text, sorted."""
    with psycopg.connect(database_url) as conn:
        names = [name for (name,) in conn.execute(making.TABLES).fetchall()]
        return {
            name: sorted(row[0] for row in conn.execute(f"SELECT t::text FROM {name} AS t").fetchall())
            for name in names
        }


def is_empty(database_url):
    used = {name for name, rows in all_rows(database_url).items() if rows}
    return used <= set(restoring.MAY_HAVE_ROWS)


def findings(database_url, event_id):
    with psycopg.connect(database_url) as conn:
        return [one for one in replay.verify(conn, event_id) if isinstance(one, replay.Finding)]


def test_everything_comes_back_as_it_was(owner, backup, new_database):
    there = new_database()
    restore(there, backup, silent)
    before, after = all_rows(owner.database_url), all_rows(there)
    assert before.keys() == after.keys()
    assert [name for name in before if before[name] != after[name] and name not in SAME_BUT_FOR] == []
    assert len(after["ledger"]) > 3
    assert (len(before["operator_session"]), after["operator_session"]) == (1, []), "who logged out stays out"
    assert findings(there, owner.event_id) == []


def test_an_older_schema_is_migrated_when_it_comes_back(owner, backup, new_database, monkeypatch):
    there = new_database(migrated=False)
    migrated: list[str] = []
    monkeypatch.setattr(migrate, "upgrade", migrated.append)
    restore(there, backup, silent)
    assert migrated == [there]


def test_a_folder_gets_a_file_of_its_own_name_and_nothing_is_overwritten(owner, backup, tmp_path):
    path, manifest = make(owner.database_url, tmp_path, silent)
    assert path.parent == tmp_path
    assert path.suffix == ".backup"
    assert read_manifest(path) == manifest
    with pytest.raises(BackupFailed, match="there already"):
        make(owner.database_url, path, silent)
    with pytest.raises(BackupFailed, match="no folder"):
        make(owner.database_url, tmp_path / "none" / "x", silent)


def test_it_is_of_one_moment_whatever_is_written_meanwhile(owner, tmp_path):
    """What is counted and what is dumped is the same snapshot."""

    def write_too(what, size):
        if what == "counting":
            with psycopg.connect(owner.database_url, autocommit=True) as conn:
                conn.execute("INSERT INTO tour (slug, name, seats_per_buyer_max) VALUES ('t', 't', 1)")

    path, manifest = make(owner.database_url, tmp_path / "one.backup", write_too)
    assert manifest.tables["tour"] == 0
    assert rows_in(path)["tour"] == 0


def test_a_file_that_lacks_rows_never_gets_its_name(owner, tmp_path, monkeypatch):
    counted = making._counts
    monkeypatch.setattr(making, "_counts", lambda conn: counted(conn) | {"ledger": 99})
    with pytest.raises(BackupNotGood, match="99"):
        make(owner.database_url, tmp_path / "short.backup", silent)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("harm", ["cut", "changed", "no zip", "none"])
def test_a_file_that_is_not_what_was_written_is_refused(backup, new_database, harm):
    there = new_database()
    whole = backup.read_bytes()
    if harm == "none":
        backup.unlink()
    else:
        changed = bytearray(whole)
        changed[len(whole) // 3] ^= 0xFF
        backup.write_bytes({"cut": whole[:-500], "changed": bytes(changed), "no zip": b"x" * 100}[harm])
    with pytest.raises(BackupNotGood):
        restore(there, backup, silent)
    assert is_empty(there)


def test_one_of_a_newer_onsale_is_refused(backup, new_database, tmp_path):
    newer = tmp_path / "newer.backup"
    manifest = msgspec.structs.replace(read_manifest(backup), revision="9999")
    with zipfile.ZipFile(backup) as old, zipfile.ZipFile(newer, "w") as new:
        new.writestr("database.dump", old.read("database.dump"))
        new.writestr(MANIFEST, msgspec.json.encode(manifest))
    with pytest.raises(BackupFailed, match="newer onsale"):
        restore(new_database(), newer, silent)


def test_nothing_is_overwritten(owner, backup, new_database):
    there = new_database()
    restore(there, backup, silent)
    with pytest.raises(BackupFailed, match="not empty"):
        restore(there, backup, silent)


def test_while_others_are_in_the_database_it_is_left_alone(backup, new_database):
    there = new_database()
    with (
        contextlib.closing(psycopg.connect(there, application_name="onsale gateway")),
        pytest.raises(BackupFailed, match="Others use this database: onsale gateway"),
    ):
        restore(there, backup, silent)


def test_when_rows_do_not_come_back_all_of_them_stay_away(backup, new_database, monkeypatch):
    there = new_database()

    def more(path):
        manifest: Manifest = read_manifest(path)
        return msgspec.structs.replace(manifest, tables=manifest.tables | {"seat": 1})

    monkeypatch.setattr(restoring, "read_manifest", more)
    with pytest.raises(BackupFailed, match="not all rows of seat came back"):
        restore(there, backup, silent)
    assert is_empty(there)


def test_numbers_go_on_beyond_all_that_were_told(owner, backup, new_database):
    there = new_database()
    restore(there, backup, silent)
    with psycopg.connect(there, autocommit=True) as conn:
        [then] = read_manifest(backup).events
        row = conn.execute("SELECT batch_no, epoch FROM event_cursor").fetchone()
        assert row == (then.batch_no + BATCHES, then.epoch + restoring.EPOCHS)
        assert BATCHES > 100 * 86_400, "a day of a busy event"
        conn.execute("INSERT INTO tour (slug, name, seats_per_buyer_max) VALUES ('t', 't', 1)")
        [(tour,)] = conn.execute("SELECT id FROM tour").fetchall()
        assert tour > restoring.MADE
        [(what,)] = conn.execute("SELECT what FROM audit WHERE who = 'restore'").fetchall()
        assert what["restored"]["batch_no"] == then.batch_no


def test_no_number_that_the_world_tells_repeats_by_is_given_twice(owner, backup, new_database):
    """However much the sale made after its backup: what comes next is above the last of that."""
    there = new_database()
    restore(there, backup, silent)
    counted = """
        SELECT table_name, column_name, data_type FROM information_schema.columns
         WHERE table_schema = 'public' AND is_identity = 'YES' ORDER BY 1
    """
    next_one = "SELECT nextval(pg_get_serial_sequence(%s, %s))"
    with psycopg.connect(there) as conn, psycopg.connect(owner.database_url) as before:
        found = conn.execute(counted).fetchall()
        assert {"outbox", "payment", "refund", "mail", "audit", "event", "subscriber"} <= {
            row[0] for row in found
        }
        for table, column, kind in found:
            [(made,)] = before.execute(next_one, (table, column)).fetchall()
            [(goes_on,)] = conn.execute(next_one, (table, column)).fetchall()
            assert goes_on - made >= (10_000_000_000 if kind == "bigint" else 1_000_000) - 1, table


def test_a_restored_backup_can_be_backed_up_and_restored_again_and_again(
    owner, backup, new_database, tmp_path
):
    url, number = owner.database_url, 0
    for again in range(3):
        path, _ = make(url, tmp_path / f"{again}.backup", silent)
        url = new_database()
        restore(url, path, silent)
        with psycopg.connect(url) as conn:
            [(goes_on,)] = conn.execute("SELECT nextval(pg_get_serial_sequence('outbox', 'id'))").fetchall()
        assert goes_on > number + restoring.COUNTED - 10
        number = goes_on
    assert number < 1 << 53
    assert findings(url, owner.event_id) == []


def test_a_gap_that_no_restore_made_is_still_found(owner, backup, new_database):
    there = new_database()
    restore(there, backup, silent)
    with psycopg.connect(there, autocommit=True) as conn:
        conn.execute("ALTER TABLE audit DISABLE TRIGGER USER")
        conn.execute("DELETE FROM audit")
    [found] = findings(there, owner.event_id)
    assert "are missing" in found.story


def test_a_database_that_is_not_ours_is_no_backup(new_database, tmp_path):
    with pytest.raises(BackupFailed, match="not onsale's"):
        make(new_database(migrated=False), tmp_path / "x.backup", silent)
    assert list(tmp_path.iterdir()) == []


def test_passwords_are_on_no_command_line(owner, tmp_path, monkeypatch):

    seen = []
    real = subprocess.Popen

    def popen(arguments, **how):
        seen.append(" ".join(map(str, arguments)))
        return real(arguments, **how)

    monkeypatch.setattr(subprocess, "Popen", popen)
    make(owner.database_url, tmp_path / "x.backup", silent)
    with psycopg.connect(owner.database_url) as conn:
        password = conn.info.password
    assert seen
    assert not [line for line in seen if password in line]
