"""Making a backup: one snapshot of the whole database, while it is used, and a check of the file at once.

What is counted and what pg_dump writes is the same snapshot. Then the file is read back, every row in it
counted and its checksum compared, before it gets its name: a file with the name that was asked for is whole.
"""

from __future__ import annotations

import hashlib
import os
import re
import zipfile
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from threading import Thread
from typing import Any, Final

import msgspec
import psycopg
from psycopg import sql

from onsale import __version__
from onsale.backup.archive import (
    DUMP,
    FORMAT,
    MANIFEST,
    BackupFailed,
    BackupNotGood,
    EventThen,
    Manifest,
    check_sum,
    chunks,
    opened_dump,
)  # fmt: skip
from onsale.backup.programs import Program

Progress = Callable[[str, int], None]
"""(what is done now, bytes so far)"""

TABLES: Final = """
SELECT relname FROM pg_class
 WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace ORDER BY relname
"""
EVENTS: Final = """
SELECT event.id, slug, event_cursor.batch_no, (extract(epoch FROM event_cursor.batch_time) * 1000000)::bigint,
       event_cursor.arrival, event_cursor.epoch, coalesce(encode(ledger_batch.hash, 'hex'), '')
  FROM event JOIN event_cursor ON event_cursor.event_id = event.id
  LEFT JOIN ledger_batch ON ledger_batch.event_id = event.id AND ledger_batch.batch_no = event_cursor.batch_no
 ORDER BY event.id
"""
COPY: Final = re.compile(rb"COPY (?:public\.)?\"?(\w+)\"? \(.*\) FROM stdin;\r?\n")


def make(database_url: str, to: Path, progress: Progress) -> tuple[Path, Manifest]:
    """Writes a backup to `to`, a file that is not there yet or a folder; (the file, what is in it)."""
    path = _file(to)
    part = path.with_name(path.name + ".part")
    try:
        manifest = _write(database_url, part, progress)
        _check(part, manifest, progress)
        os.replace(part, path)
    except OSError as error:
        raise BackupFailed(f"{path} cannot be written: {error.strerror}.") from error
    finally:
        part.unlink(missing_ok=True)
    return path, manifest


def _file(to: Path) -> Path:
    if to.is_dir() or str(to).endswith(os.sep):
        to.mkdir(parents=True, exist_ok=True)
        to = to / f"onsale-{datetime.now(UTC):%Y%m%d-%H%M%S}.backup"
    if to.exists():
        raise BackupFailed(f"{to} is there already. Name another file, or a folder; nothing is overwritten.")
    if not to.parent.is_dir():
        raise BackupFailed(f"There is no folder {to.parent}. Make it first.")
    return to


def _write(database_url: str, part: Path, progress: Progress) -> Manifest:
    with psycopg.connect(database_url, application_name="onsale backup") as conn:
        conn.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        row = conn.execute("SELECT pg_export_snapshot(), clock_timestamp()").fetchone()
        assert row is not None, "a snapshot has a name"
        snapshot, taken_at = row
        progress("counting", 0)
        tables = _counts(conn)
        revision = _revision(conn, tables)
        events = [EventThen(*row) for row in conn.execute(EVENTS).fetchall()]
        digest, size = hashlib.sha256(), 0
        arguments = (
            "--format=custom",
            "--no-owner",
            "--no-privileges",
            "--no-password",
            f"--snapshot={snapshot}",
        )
        with (
            open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file,
            zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive,
            Program("pg_dump", arguments, database_url) as dumping,
        ):
            with archive.open(DUMP, "w", force_zip64=True) as dump:
                for piece in dumping.pieces():
                    dump.write(piece)
                    digest.update(piece)
                    size += len(piece)
                    progress("writing", size)
            dumping.ended("pg_dump")
            manifest = Manifest(
                FORMAT, taken_at.astimezone(UTC).isoformat(timespec="seconds"), __version__,
                str(conn.info.server_version), revision, tables, events, size, digest.hexdigest(),
            )  # fmt: skip
            archive.writestr(MANIFEST, msgspec.json.format(msgspec.json.encode(manifest)))
            archive.close()
            file.flush()
            os.fsync(file.fileno())
    return manifest


def _counts(conn: psycopg.Connection[Any]) -> dict[str, int]:
    names = [name for (name,) in conn.execute(TABLES).fetchall()]
    counts = {}
    for name in names:
        row = conn.execute(
            sql.SQL("SELECT count(*) FROM {}").format(sql.Identifier("public", name))
        ).fetchone()
        assert row is not None, "a count is always a row"
        counts[name] = int(row[0])
    return counts


def _revision(conn: psycopg.Connection[Any], tables: dict[str, int]) -> str:
    row = None
    if tables.get("alembic_version"):
        row = conn.execute("SELECT version_num FROM alembic_version").fetchone()
    if row is None:
        raise BackupFailed("This database is not onsale's: it has no schema of ours. Check DATABASE_URL.")
    return str(row[0])


def _check(part: Path, manifest: Manifest, progress: Progress) -> None:
    progress("checking", manifest.dump_bytes)
    check_sum(part, manifest)
    found = rows_in(part)
    for table, count in manifest.tables.items():
        if found.get(table, 0) != count:
            story = f"{found.get(table, 0)} rows of {table} are in it, the database had {count}"
            raise BackupNotGood(f"The backup is not whole: {story}. Try again; then look at the disk.")


def rows_in(path: Path) -> dict[str, int]:
    """Rows of each table that a backup has, counted as they would be restored."""
    found: dict[str, int] = {}
    with opened_dump(path) as dump, Program("pg_restore", ("--data-only", "--file=-")) as reading:
        feeding = Thread(target=_feed, args=(dump, reading), name="feeds pg_restore")
        feeding.start()
        table = ""
        for line in reading.out:
            if not table:
                begins = COPY.fullmatch(line)
                table = begins[1].decode() if begins else ""
                found.setdefault(table, 0)
            elif line == b"\\.\n":
                table = ""
            else:
                found[table] += 1
        feeding.join()
        reading.ended("reading the backup back")
    found.pop("", None)
    return found


def _feed(dump: Any, reading: Program) -> None:
    try:
        for piece in chunks(dump):
            reading.into.write(piece)
        reading.into.close()
    except (BrokenPipeError, BackupNotGood):
        reading.process.terminate()  # its end says so
