"""The waiting room's texts: one catalogue a language, which pages with scripts import as it is."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Final

Text = str | dict[str, str]
"""A text with {names} to fill in, or its forms by number."""

TEXT_LENGTH_MAX: Final = 500
_FOLDER: Final = Path(__file__).parent / "static" / "core" / "roomtexts"


@cache
def texts(language: str) -> dict[str, Text]:
    """Every text by its code. The file is a module whose one export is JSON."""
    source = (_FOLDER / f"{language}.js").read_text(encoding="utf-8")
    found: dict[str, Text] = json.loads(source.removeprefix("export default ").rstrip(";\n"))
    return found
