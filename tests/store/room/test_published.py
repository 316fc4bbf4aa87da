"""The published list: an honest one stands, and of a forged one it is said what is wrong."""

from __future__ import annotations

import hashlib
import uuid

import pytest

from store.errors import BadRequest
from store.room.draw import rank_of
from store.room.published import Head, check, head_lines
from store.room.words import Lane

SEED = b"s" * 32
SHA256 = hashlib.sha256(SEED).digest()


def ids(count, name):
    made = [uuid.UUID(bytes=hashlib.md5(f"{name} {number}".encode()).digest()) for number in range(count)]
    return sorted(made, key=lambda place: rank_of(SEED, place))


ORDINARY, PRIORITY = ids(40, "ordinary"), ids(5, "priority")


def text(ordinary=ORDINARY, priority=PRIORITY, *, drawn=None, seed=SEED, sha256=SHA256):
    count = len(ordinary) + len(priority) if drawn is None else drawn
    rows = [f"ordinary,{number},{place}\n" for number, place in enumerate(ordinary, 1)]
    rows += [f"priority,{number},{place}\n" for number, place in enumerate(priority, 1)]
    return head_lines(Head("gig", sha256, seed, count)) + "".join(rows)


def checked(written, **options):
    return check(lambda: iter(written.splitlines(keepends=True)), **options)


def faults(written, **options):
    return [(fault.kind, fault.place, fault.position) for fault in checked(written, **options).faults]


def test_an_honest_list_stands_and_says_where_a_place_does():
    told = checked(text(), commitment=SHA256, place=ORDINARY[16])
    assert (told.faults, told.places, told.head.event) == ([], 45, "gig")
    assert told.found is not None
    assert (told.found.lane, told.found.position) == (Lane.ORDINARY, 17)
    assert checked(text(), place=uuid.uuid4()).found is None


def test_lines_in_another_order_or_with_other_ends_are_the_same_list():
    head, rows = text().split("lane,position,place\n")
    turned = head + "lane,position,place\n" + "\n".join(reversed(rows.splitlines())) + "\n"
    assert faults(turned) == []
    assert faults(text().replace("\n", "\r\n")) == []
    assert faults(text([], [])) == []


@pytest.mark.parametrize(("origin", "target"), [(30, 2), (2, 30), (39, 0), (0, 39)])
def test_the_place_that_was_moved_is_named(origin, target):
    forged = [place for place in ORDINARY if place != ORDINARY[origin]]
    forged.insert(target, ORDINARY[origin])
    told = checked(text(forged))
    [fault] = told.faults
    assert (fault.kind, fault.place) == ("moved", str(ORDINARY[origin]))
    assert f"stands at ordinary {target + 1}; the draw puts it at ordinary {origin + 1}" in fault.story


def test_a_place_that_is_there_twice_is_named():
    twice = [("doubled", str(ORDINARY[20]), 1), ("doubled", str(ORDINARY[20]), 22)]
    assert faults(text([ORDINARY[20], *ORDINARY])) == twice
    assert faults(text([ORDINARY[20], *ORDINARY], drawn=45)) == [*twice, ("count", None, None)]


def test_a_place_that_is_missing_is_noticed():
    written = text()
    gap = written.replace(f"ordinary,17,{ORDINARY[16]}\n", "")
    assert faults(gap) == [("position_missing", None, 17), ("count", None, None)]
    shorter = text([place for place in ORDINARY if place != ORDINARY[16]], drawn=45)
    assert faults(shorter) == [("count", None, None)]


def test_two_places_at_one_position_are_noticed():
    written = text().replace(f"ordinary,18,{ORDINARY[17]}", f"ordinary,17,{ORDINARY[17]}")
    assert faults(written) == [("position_taken", None, 17), ("position_missing", None, 18)]


def test_a_place_in_the_other_lane_is_noticed_where_it_does_not_belong():
    moved = sorted([*PRIORITY, ORDINARY[3]], key=lambda place: rank_of(SEED, place))
    same = text([place for place in ORDINARY if place != ORDINARY[3]], moved)
    assert faults(same) == [], "which lane a place is of nobody can know but who has it"


def test_another_seed_than_was_promised_is_noticed():
    other = b"t" * 32
    assert faults(text(), commitment=hashlib.sha256(other).digest()) == [("commitment", None, None)]
    kinds = {kind for kind, _, _ in faults(text(seed=other))}
    assert kinds == {"seed", "moved"}
    assert faults(text(), commitment=SHA256) == []


@pytest.mark.parametrize(
    ("written", "says"),
    [
        ("", "no list of a draw"),
        ("<html>", "no list of a draw"),
        ("# event: a\n# event: b\n", "no list of a draw"),
        ("# a: b\n" * 30, "no list of a draw"),
        ("# event: gig\n# seed_sha256: 00\nlane,position,place\n", "nothing of seed and drawn"),
        (text().replace(SEED.hex(), "zz"), "64 hexadecimal digits"),
        (text().replace("# drawn: 45", "# drawn: many"), "must be a number"),
        (text() + "ordinary,41,somebody\n", "Line 51 is no place"),
        (text() + "balcony,41,0f8fad5b-d9cb-469f-a165-70867728950e\n", "Line 51 is no place"),
        (text() + "ordinary,41,0F8FAD5B-D9CB-469F-A165-70867728950E\n", "Line 51 is no place"),
        (text() + "ordinary,1\n", "Line 51 is no place"),
    ],
)
def test_what_is_no_list_is_told_by_its_line(written, says):
    with pytest.raises(BadRequest, match=says) as refusal:
        checked(written)
    assert refusal.value.code == "invalid_list"


def test_an_honest_list_is_read_once_and_nothing_of_it_is_kept():
    readings = []

    def lines():
        readings.append(1)
        yield from text().splitlines(keepends=True)

    check(lines)
    assert len(readings) == 1
