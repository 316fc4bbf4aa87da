"""The files of the pages, read once, under a path that carries their fingerprint."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Final

MEDIA_TYPES: Final = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".mjs": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".md": "text/plain; charset=utf-8",
    ".LICENSE": "text/plain; charset=utf-8",
}


def _read() -> dict[str, bytes]:
    root = Path(__file__).parent / "static"
    found = sorted(path for path in root.rglob("*") if path.suffix in MEDIA_TYPES)
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in found}


def _fingerprint(files: dict[str, bytes]) -> str:
    digest = hashlib.sha256()
    for name, content in files.items():
        digest.update(f"{name}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()[:12]


FILES: Final = _read()
VERSION: Final = _fingerprint(FILES)
STATIC: Final = f"/static/{VERSION}"
