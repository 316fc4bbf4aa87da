"""The published list of a draw: how it is written, read, and checked by anybody, without a database.

Text: a head of `# key: value` lines, the columns, then a place a line, by lane and position.

    # event: spring-gala
    # seed_sha256: 9f86d0…
    # seed: 6d1c…
    # drawn: 40213
    lane,position,place
    ordinary,1,0f8fad5b-d9cb-469f-a165-70867728950e

An honest list is checked as it is read, and nothing of it is kept: every place ranks above the one before.
Only where that fails it is read again, into memory, to say what is wrong.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable, Iterable, Iterator
from typing import Final
from uuid import UUID

from msgspec import Struct

from store.errors import BadRequest
from store.room.draw import SEED_BYTES, Drawn, moved
from store.room.words import Lane

COLUMNS: Final = "lane,position,place"
HEAD_LINES_MAX: Final = 20
LINE_LENGTH_MAX: Final = 300
ROWS_MAX: Final = 10_000_000
FAULTS_MAX: Final = 100
"""Most faults told of a kind."""

Lines = Callable[[], Iterable[str]]
"""The list, from its beginning at each call."""


class Head(Struct, frozen=True):
    """What a list says of itself."""

    event: str
    seed_sha256: bytes
    seed: bytes
    drawn: int


class Fault(Struct, frozen=True):
    """Something that an honest list does not have."""

    kind: str
    """seed, commitment, count, moved, doubled, position_taken, position_missing."""
    story: str
    place: str | None = None
    lane: Lane | None = None
    position: int | None = None


class Stands(Struct, frozen=True):
    """Where a place stands in a list."""

    lane: Lane
    position: int


class Checked(Struct, frozen=True):
    """What came of checking a list; it stands where there are no faults."""

    head: Head
    places: int
    faults: list[Fault]
    found: Stands | None
    """The place that was asked about."""


def head_lines(head: Head) -> str:
    """The beginning of a list."""
    told = {"event": head.event, "seed_sha256": head.seed_sha256.hex()}
    told |= {"seed": head.seed.hex(), "drawn": str(head.drawn)}
    return "".join(f"# {key}: {value}\n" for key, value in told.items()) + COLUMNS + "\n"


def check(lines: Lines, *, commitment: bytes | None = None, place: UUID | None = None) -> Checked:
    """Whether each place stands where the seed puts it, and the seed is the one that was promised.

    `commitment` is what was published before the lobby began, as somebody wrote it down then. Raises
    `BadRequest` (invalid_list) naming the line that cannot be read.
    """
    head, rows = _read(lines())
    faults = _of_seed(head, commitment)
    count, in_order, found = _walk(head, rows, None if place is None else str(place))
    if not in_order:
        faults += _of_places(head, lines)
    if count != head.drawn:
        story = f"The list has {count:,} places; {head.drawn:,} were in the draw."
        faults.append(Fault("count", story))
    return Checked(head, count, faults, found)


def _of_seed(head: Head, commitment: bytes | None) -> list[Fault]:
    faults = []
    if hashlib.sha256(head.seed).digest() != head.seed_sha256:
        story = "The seed does not have the SHA-256 that the list gives for it."
        faults.append(Fault("seed", story))
    if commitment is not None and hashlib.sha256(head.seed).digest() != commitment:
        story = "The seed is another than the one that was promised: its SHA-256 is not your commitment."
        faults.append(Fault("commitment", story))
    return faults


def _walk(
    head: Head, rows: Iterable[tuple[str, int, str]], wanted: str | None
) -> tuple[int, bool, Stands | None]:
    """(places, whether all stand in order, where the wanted one stands)."""
    seed, rank_of = head.seed, hmac.digest
    in_order, found = True, None
    lane, position, rank, count = "", 0, b"", 0
    for count, (lane_now, position_now, place) in enumerate(rows, 1):  # noqa: B007
        rank_now = rank_of(seed, place.encode(), "sha256")
        if lane_now != lane:
            in_order = in_order and lane_now > lane
            lane, position, rank = lane_now, 0, b""
        if position_now != position + 1 or rank_now <= rank:
            in_order = False
        position, rank = position_now, rank_now
        if place == wanted and found is None:
            found = Stands(Lane(lane_now), position_now)
    return count, in_order, found


def _of_places(head: Head, lines: Lines) -> list[Fault]:
    _, rows = _read(lines())
    listed = [Drawn(Lane(lane), position, UUID(place)) for lane, position, place in rows]
    faults = []
    for one in moved(head.seed, listed)[:FAULTS_MAX]:
        at = f"{one.lane} {one.position:,}"
        if one.should_be is None:
            kind, story = "doubled", f"Place {one.place} is in the list more than once, also at {at}."
        else:
            kind = "moved"
            story = f"Place {one.place} stands at {at}; the draw puts it at {one.lane} {one.should_be:,}."
        faults.append(Fault(kind, story, str(one.place), one.lane, one.position))
    for lane in Lane:
        faults += _of_positions(lane, sorted(one.position for one in listed if one.lane is lane))
    return faults


def _of_positions(lane: Lane, positions: list[int]) -> list[Fault]:
    """Positions that two places have, and positions that nobody has."""
    faults: list[Fault] = []
    before = 0
    for position in positions:
        if len(faults) >= FAULTS_MAX:
            break
        if position == before:
            story = f"Two places stand at {lane} {position:,}."
            faults.append(Fault("position_taken", story, None, lane, position))
        elif position > before + 1:
            last = f" to {position - 1:,}" if position > before + 2 else ""
            story = f"Nobody stands at {lane} {before + 1:,}{last}: places are missing from the list."
            faults.append(Fault("position_missing", story, None, lane, before + 1))
        before = position
    return faults


def _read(lines: Iterable[str]) -> tuple[Head, Iterator[tuple[str, int, str]]]:
    numbered = enumerate(lines, 1)
    told: dict[str, str] = {}
    for number, line in numbered:
        text = line.rstrip("\r\n")
        if text == COLUMNS:
            return _head_of(told), _rows(numbered)
        key, colon, value = text.removeprefix("#").partition(":")
        if number > HEAD_LINES_MAX or not text.startswith("#") or not colon or key.strip() in told:
            break
        told[key.strip()] = value.strip()
    story = f"This is no list of a draw: it begins with `# key: value` lines and then {COLUMNS!r}."
    raise BadRequest("invalid_list", story)


def _head_of(told: dict[str, str]) -> Head:
    missing = [key for key in Head.__struct_fields__ if not told.get(key)]
    if missing:
        story = (
            f"The list's head says nothing of {' and '.join(missing)}. A list has its seed once it is drawn."
        )
        raise BadRequest("invalid_list", story)
    drawn = told["drawn"]
    if not drawn.isdecimal() or len(drawn) > len(str(ROWS_MAX)):
        raise BadRequest("invalid_list", f"How many were drawn must be a number up to {ROWS_MAX:,}.")
    hashed, seed = of_hex("seed_sha256", told["seed_sha256"]), of_hex("seed", told["seed"])
    return Head(told["event"], hashed, seed, int(drawn))


def of_hex(name: str, text: str) -> bytes:
    """32 bytes; raises `BadRequest` (invalid_list)."""
    try:
        found = bytes.fromhex(text)
    except ValueError:
        found = b""
    if len(found) != SEED_BYTES:
        raise BadRequest("invalid_list", f"{name} must be {2 * SEED_BYTES} hexadecimal digits.")
    return found


def _rows(numbered: Iterable[tuple[int, str]]) -> Iterator[tuple[str, int, str]]:
    """(lane, position, place as the draw has it)."""
    lanes = {lane.value: lane.value for lane in Lane}
    rows = 0
    for number, line in numbered:
        if not line.strip():
            continue
        rows += 1
        try:
            lane, position, place = line.split(",")
            plain = place.strip()
            if len(line) > LINE_LENGTH_MAX or rows > ROWS_MAX or str(UUID(plain)) != plain:
                raise ValueError
            yield lanes[lane], int(position), plain
        except (ValueError, KeyError):
            story = f"Line {number:,} is no place: it must be a lane, a position and a place's id."
            raise BadRequest("invalid_list", story) from None
