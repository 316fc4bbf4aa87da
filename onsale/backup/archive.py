"""A backup is one file: a zip that holds what pg_dump wrote, as it is, and a manifest that says what must be
in it. The manifest comes last, so a file that was cut short has none.
"""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Final

import msgspec
from msgspec import Struct

from onsale.errors import FrontDoorError

FORMAT: Final = 1
DUMP: Final = "database.dump"
MANIFEST: Final = "manifest.json"
CHUNK_BYTES: Final = 1 << 20
MANIFEST_BYTES_MAX: Final = 64 << 20


class BackupNotGood(FrontDoorError):
    """A file is no backup, or not what was written."""


class BackupFailed(FrontDoorError):
    """A backup could not be made or restored; the message says what to do."""


class EventThen(Struct, frozen=True):
    """An event as the backup has it: where its ledger ends."""

    id: int
    slug: str
    batch_no: int
    batch_time: int
    """In microseconds."""
    arrival: str
    epoch: int
    hash: str
    """Of its last batch, in hexadecimal; empty where there is none."""


class Manifest(Struct, frozen=True):
    """What a backup must hold."""

    format: int
    taken_at: str
    onsale: str
    server: str
    revision: str
    tables: dict[str, int]
    """Rows of each."""
    events: list[EventThen]
    dump_bytes: int
    dump_sha256: str


def read_manifest(path: Path) -> Manifest:
    """Raises `BackupNotGood` for anything that is no whole backup of a format known here."""
    try:
        with zipfile.ZipFile(path) as archive:
            if archive.getinfo(MANIFEST).file_size > MANIFEST_BYTES_MAX:
                raise BackupNotGood(f"{path} has a manifest that is too large to be one of ours.")
            manifest = msgspec.json.decode(archive.read(MANIFEST), type=Manifest)
    except FileNotFoundError:
        raise BackupNotGood(f"There is no file {path}.") from None
    except (zipfile.BadZipFile, KeyError, OSError, msgspec.DecodeError) as error:
        raise BackupNotGood(f"{path} is not a whole backup of onsale ({error}). Take another one.") from error
    if manifest.format != FORMAT:
        raise BackupNotGood(f"{path} is of format {manifest.format}, which this onsale cannot read.")
    return manifest


@contextmanager
def opened_dump(path: Path) -> Iterator[IO[bytes]]:
    """What pg_dump wrote, to be read from its beginning to its end."""
    with zipfile.ZipFile(path) as archive, archive.open(DUMP) as dump:
        yield dump


def chunks(dump: IO[bytes]) -> Iterator[bytes]:
    """All of it, a bounded piece at a time; raises `BackupNotGood` where it was damaged."""
    try:
        while piece := dump.read(CHUNK_BYTES):
            yield piece
    except zipfile.BadZipFile as error:
        raise BackupNotGood(f"The backup is damaged ({error}). Take another one.") from error


def check_sum(path: Path, manifest: Manifest) -> None:
    """Raises `BackupNotGood` unless the dump is the one that was written."""
    digest, size = hashlib.sha256(), 0
    with opened_dump(path) as dump:
        for piece in chunks(dump):
            digest.update(piece)
            size += len(piece)
    if (size, digest.hexdigest()) != (manifest.dump_bytes, manifest.dump_sha256):
        raise BackupNotGood(f"{path} is not what was written: its checksum is another. Take another backup.")
