"""Restoring a backup into an empty database, in one transaction that ends with a count of every row.

What happened since the backup was taken is not in it, and buyers were told of it. So that nothing which is
decided from now on can be mistaken for that:

- every event's epoch goes up by `EPOCHS`, and its lease is free: an allocator from before is fenced;
- every event's ledger goes on `BATCHES` later, with an empty batch that is chained to the last one, and a row
  of the audit that says so: no number of a batch, and none of a hold or order, which are made of them, is
  given twice;
- every counted number (payments, messages to subscribers, mails, rows of the audit) goes on `COUNTED` later,
  of what operators make (events, keys, subscribers) `MADE` later: more than there can have been since the
  backup. Whoever tells repeats by them (receivers of webhooks, mail servers, payment providers) never sees an
  old number with another meaning. A ticket that is given on gets a serial none had (`store.restored`);
- rows of the fleet and of loads are left out: who runs enlists again;
- consoles are logged out: a session that was ended since would count again.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from typing import Any, Final

import psycopg
from psycopg import sql

from allocator.decide import CODE_VERSION
from onsale.backup.archive import (
    BackupFailed,
    BackupNotGood,
    EventThen,
    Manifest,
    check_sum,
    chunks,
    opened_dump,
    read_manifest,
)  # fmt: skip
from onsale.backup.make import TABLES, Progress
from onsale.backup.programs import Program
from store import migrate
from store.ledger import GENESIS, batch_hash

EPOCHS: Final = 1_000
BATCHES: Final = 100_000_000
"""More than an event decides in days."""
COUNTED: Final = 10_000_000_000
"""Of numbers of 64 bits. More than any sale makes; JavaScript's whole numbers take 900,000 restores."""
MADE: Final = 1_000_000
"""Of numbers of 32 bits, which take 2,000 restores."""
LEFT_OUT: Final = (
    "fleet_host", "fleet_worker", "fleet_assignment", "event_load", "event_balance", "operator_session",
)  # fmt: skip
MAY_HAVE_ROWS: Final = ("alembic_version", "fleet_turn")
"""Of a database that is migrated and was never used."""

OTHERS: Final = """
SELECT DISTINCT coalesce(nullif(application_name, ''), 'a program without a name') FROM pg_stat_activity
 WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend' ORDER BY 1
"""

EMPTY: Final = """
-- Whatever a migration made in an empty database. What belongs to an extension stays.
DO $$ DECLARE one text; BEGIN
  FOR one IN SELECT format('DROP TABLE IF EXISTS %s CASCADE', oid::regclass) FROM pg_class
              WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace
             UNION ALL
             SELECT format('DROP FUNCTION IF EXISTS %s CASCADE', oid::regprocedure) FROM pg_proc
              WHERE pronamespace = 'public'::regnamespace AND NOT EXISTS
                    (SELECT FROM pg_depend WHERE objid = pg_proc.oid AND deptype = 'e')
  LOOP EXECUTE one; END LOOP;
END $$;
"""

ON: Final = """
SET search_path = public;
UPDATE event_cursor SET epoch = epoch + {epochs}, owner = gen_random_uuid();
-- When it was last renewed stays: who takes the event over gives holds the time since then back.
UPDATE lease SET owner = NULL, worker = NULL, backend_pid = NULL, backend_start = NULL;
SELECT setval(pg_get_serial_sequence(quote_ident(table_name), column_name),
              nextval(pg_get_serial_sequence(quote_ident(table_name), column_name))
                + CASE data_type WHEN 'bigint' THEN {counted} ELSE {made} END)
  FROM information_schema.columns WHERE table_schema = 'public' AND is_identity = 'YES';
"""

JUMP: Final = """
INSERT INTO ledger_batch (event_id, batch_no, epoch, batch_time, arrival, code_version, row_digests, hash)
SELECT {event}, {batch}, {epoch}, batch_time, arrival, {version}, '', decode({hash}, 'hex')
  FROM event_cursor WHERE event_id = {event};
UPDATE event_cursor SET batch_no = {batch} WHERE event_id = {event};
INSERT INTO audit (event_id, who, why, what)
VALUES ({event}, 'restore', {why}, json_build_object('restored', json_build_object(
          'taken_at', {taken_at}::text, 'batch_no', {before}::bigint, 'goes_on_at', {batch}::bigint)));
"""

COUNT: Final = """
DO $$ BEGIN IF (SELECT count(*) FROM {table}) <> {count} THEN
  RAISE EXCEPTION 'not all rows of % came back', {name}; END IF; END $$;
"""


def restore(database_url: str, path: Path, progress: Progress) -> Manifest:
    """Everything or nothing. Raises `BackupNotGood` for the file and `BackupFailed` for the database."""
    manifest = read_manifest(path)
    progress("checking the file", 0)
    check_sum(path, manifest)
    _refuse_newer(manifest)
    with psycopg.connect(database_url, autocommit=True, application_name="onsale restore") as conn:
        _refuse_used(conn)
        after = list(_afterwards(conn, manifest))
    with (
        opened_dump(path) as dump,
        Program("pg_restore", ("--no-owner", "--no-privileges", "--exit-on-error", "--file=-")) as reading,
        Program(
            "psql",
            ("-X", "-q", "-1", "-v", "ON_ERROR_STOP=1", "-o", "/dev/null", "-f", "-"),
            database_url,
        ) as writing,
    ):
        feeding = Thread(target=_feed, args=(dump, reading), name="feeds pg_restore")
        feeding.start()
        try:
            writing.into.write(EMPTY.encode())
            size = 0
            for piece in reading.pieces():
                writing.into.write(piece)
                size += len(piece)
                progress("restoring", size)
            feeding.join()
            reading.ended("reading the backup")  # else psql is ended before it commits
            writing.into.write("".join(after).encode())
            writing.into.close()
        except BrokenPipeError:
            reading.process.kill()
            feeding.join()
        writing.ended("restoring, of which nothing was kept,")
    migrate.upgrade(database_url)
    with psycopg.connect(database_url, autocommit=True) as conn:
        conn.execute("ANALYZE")
    return manifest


def _feed(dump: Any, reading: Program) -> None:
    try:
        for piece in chunks(dump):
            reading.into.write(piece)
        reading.into.close()
    except (BrokenPipeError, BackupNotGood):
        reading.process.kill()


def _refuse_newer(manifest: Manifest) -> None:
    if manifest.revision not in migrate.known_revisions():
        raise BackupFailed(
            f"The backup is of a newer onsale (revision {manifest.revision}). Restore it with that version."
        )


def _refuse_used(conn: psycopg.Connection[Any]) -> None:
    """Raises `BackupFailed` unless the database is empty and nobody else is in it."""
    if others := [name for (name,) in conn.execute(OTHERS).fetchall()]:
        raise BackupFailed(
            f"Others use this database: {', '.join(others)}. Stop gateways, workers and chores first."
        )
    for (name,) in conn.execute(TABLES).fetchall():
        table = sql.Identifier("public", name)
        found = conn.execute(sql.SQL("SELECT EXISTS (SELECT FROM {})").format(table)).fetchone()
        if name not in MAY_HAVE_ROWS and found == (True,):
            raise BackupFailed(
                f"The database is not empty: there are rows in {name}. Nothing is overwritten: make another"
                " (CREATE DATABASE onsale_restored) and set DATABASE_URL to it, or name another --data-dir."
            )


def _afterwards(conn: psycopg.Connection[Any], manifest: Manifest) -> Iterator[str]:
    """What follows the rows in the same transaction."""

    def text(statement: str, **values: Any) -> str:
        made = {
            name: value if isinstance(value, sql.Composable) else sql.Literal(value)
            for name, value in values.items()
        }
        return sql.SQL(statement).format(**made).as_string(conn)

    yield "SET search_path = public;\n"
    for name, count in manifest.tables.items():
        yield text(COUNT, table=sql.Identifier(name), count=count, name=name)
    for name in LEFT_OUT:
        if name in manifest.tables:
            yield text("DELETE FROM {table};\n", table=sql.Identifier(name))
    yield text(ON, epochs=EPOCHS, counted=COUNTED, made=MADE)
    for event in manifest.events:
        yield text(
            JUMP, **_jump(event), why=f"from a backup of {manifest.taken_at}", taken_at=manifest.taken_at
        )


def _jump(event: EventThen) -> dict[str, Any]:
    """The empty batch with which an event's ledger goes on."""
    before = bytes.fromhex(event.hash) or GENESIS
    batch, epoch = event.batch_no + BATCHES, event.epoch + EPOCHS
    chained = batch_hash(before, batch, epoch, event.batch_time, event.arrival, CODE_VERSION, b"")
    return {
        "event": event.id, "before": event.batch_no, "batch": batch, "epoch": epoch,
        "version": CODE_VERSION, "hash": chained.hex(),
    }  # fmt: skip
