"""The book's entries in a file: a line each, appended before it counts, so that a restart finds them all.

A process that is killed loses nothing that was answered (the lines are the kernel's by then). A last line
that was cut is dropped. Begun anew by deleting the file while the provider is stopped.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import msgspec

from onsale.simulated.book import Entry

_decode = msgspec.json.Decoder(Entry).decode


class Journal:
    """One file; `entries` before the first `write`."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._path = path
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)

    def entries(self) -> Iterator[Entry]:
        """What was written; what was cut after the last whole line is cut off."""
        text = self._path.read_bytes()
        whole, newline, cut = text.rpartition(b"\n")
        if cut:
            os.ftruncate(self._file, len(text) - len(cut))
        if newline:
            for line in whole.split(b"\n"):
                yield _decode(line)

    def write(self, entry: Entry) -> None:
        """The line is with the kernel when this returns."""
        line = msgspec.json.encode(entry) + b"\n"
        written = os.write(self._file, line)
        assert written == len(line), "a line of a few hundred bytes is written whole"

    def close(self) -> None:
        os.close(self._file)
