"""What every import has in common: bounded reading, text, money and colours.

Nothing here or in the importers writes anything: a file becomes a checked `Plan`, or a `PlanError`.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path

from store.plan import PRICE_MINOR_MAX
from store.venues.checks import PlanError, refuse_unless

FILE_BYTES_MAX = 64 * 1024 * 1024
DEFAULT_PRICE_MINOR = 2500

# ISO 4217: how many decimals the currencies have that do not have two.
_DECIMALS = {
    "BIF": 0, "CLP": 0, "DJF": 0, "GNF": 0, "ISK": 0, "JPY": 0, "KMF": 0, "KRW": 0, "PYG": 0, "RWF": 0,
    "UGX": 0, "UYI": 0, "VND": 0, "VUV": 0, "XAF": 0, "XOF": 0, "XPF": 0,
    "BHD": 3, "IQD": 3, "JOD": 3, "KWD": 3, "LYD": 3, "OMR": 3, "TND": 3,
}  # fmt: skip
_AMOUNT = re.compile(r"\d{1,12}([.,]\d{1,3})?")
_COLOUR_NAMES = {
    "black": "#000000", "silver": "#c0c0c0", "gray": "#808080", "grey": "#808080", "white": "#ffffff",
    "maroon": "#800000", "red": "#ff0000", "purple": "#800080", "fuchsia": "#ff00ff", "green": "#008000",
    "lime": "#00ff00", "olive": "#808000", "yellow": "#ffff00", "navy": "#000080", "blue": "#0000ff",
    "teal": "#008080", "aqua": "#00ffff", "orange": "#ffa500", "pink": "#ffc0cb", "brown": "#a52a2a",
    "gold": "#ffd700",
}  # fmt: skip
# Told apart by people with any colour vision; strongest first, as the best seats come first.
PALETTE = ("#3d5a98", "#2a9d8f", "#e0a030", "#c8553d", "#7b5ea7", "#5c8a3a", "#b05f8c", "#4f7f9f")


@dataclass(frozen=True)
class Terms:
    """What a file may not say: the currency, prices in its smallest unit by category name (they win over
    the file's), a price for categories that have none, and where the stage is."""

    currency: str = "EUR"
    prices_minor: Mapping[str, int] = field(default_factory=dict)
    default_price_minor: int | None = None
    stage: tuple[float, float] | None = None


def read_bytes(path: Path) -> bytes:
    """The file, if it is at most `FILE_BYTES_MAX` long; never reads more than that."""
    try:
        with path.open("rb") as file:
            raw = file.read(FILE_BYTES_MAX + 1)
    except OSError as error:
        raise PlanError(str(path), f"cannot be read: {error.strerror}") from None
    refuse_unless(
        len(raw) <= FILE_BYTES_MAX,
        str(path),
        f"is larger than {FILE_BYTES_MAX // 2**20} MiB, too much for a plan",
    )
    return raw


def as_text(raw: bytes) -> str:
    """UTF-8 with or without a byte order mark; the place of an error is its line."""
    refuse_unless(len(raw) <= FILE_BYTES_MAX, "file", f"is larger than {FILE_BYTES_MAX // 2**20} MiB")
    refuse_unless(
        not raw.startswith((b"\xff\xfe", b"\xfe\xff")), "line 1", "is UTF-16; save the file as UTF-8"
    )
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise PlanError(f"line {line}", "is not UTF-8 text; save the file as UTF-8") from None
    refuse_unless(bool(text.strip()), "line 1", "the file is empty")
    return text


def amount_minor(written: str, currency: str, place: str) -> int:
    """`49.90` or `49,90` in the currency's smallest unit: 4990. No thousands separators, no sign."""
    decimals = _DECIMALS.get(currency, 2)
    like = "49.90" if decimals else "4990"
    refuse_unless(
        bool(_AMOUNT.fullmatch(written)), place, f"must be an amount like {like}, not {written[:40]!r}"
    )
    minor = Decimal(written.replace(",", ".")).scaleb(decimals)
    refuse_unless(
        minor == int(minor), place, f"{currency} has {decimals} decimals, not as many as {written!r}"
    )
    refuse_unless(minor <= PRICE_MINOR_MAX, place, f"must be at most {PRICE_MINOR_MAX} in the smallest unit")
    return int(minor)


def amount_shown(minor: int, currency: str) -> str:
    """4990 of EUR as `49.90 EUR`: the reverse of `amount_minor`, for people."""
    decimals = _DECIMALS.get(currency, 2)
    return f"{Decimal(minor).scaleb(-decimals):,.{decimals}f} {currency}"


def as_colour(given: str | None, position: int) -> str:
    """`#rrggbb` for a hex or basic CSS colour; else the palette's colour for that position."""
    written = (given or "").strip().lower()
    if re.fullmatch(r"#[0-9a-f]{3}", written):
        return "#" + "".join(digit * 2 for digit in written[1:])
    if re.fullmatch(r"#[0-9a-f]{6}([0-9a-f]{2})?", written):
        return written[:7]
    return _COLOUR_NAMES.get(written) or PALETTE[position % len(PALETTE)]


def refuse_unknown_prices(terms: Terms, categories: set[str]) -> None:
    """A price for a category the file does not have is a slip of the pen, not something to ignore."""
    for name in terms.prices_minor:
        known = ", ".join(sorted(categories)[:10]) or "none"
        refuse_unless(name in categories, f"price {name}", f"the file has no such category; it has: {known}")
