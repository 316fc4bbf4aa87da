"""Seating plans over the operators' HTTP: what is in a file is told before it is kept, a wrong one never."""

from __future__ import annotations

import asyncio
import gzip
import io
import zipfile
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import msgspec
import psycopg
import pytest
from fastapi import Request

from gateway.operators import uploads
from gateway.problems import Busy, TooLarge
from store.venues.rows import newest_venues
from store.venues.source import PLAN_BYTES_MAX
from tests.gateway.test_operators import KEY, app_for, ask

PLANS = Path(__file__).parents[1] / "store" / "plans"
CSV = b"""guid,section,row,number,category,price
A-1,Stalls,A,1,Gold,90
A-2,Stalls,A,2,Gold,
B-1,Stalls,B,1,Silver,50
"""


@pytest.fixture
def venues(engine_urls):
    """`venues("POST", "/preview", raw, price=["Gold=3"])` with the operator key."""
    app = app_for(engine_urls)

    def call(method, path="", raw=b"", **query):
        at = f"/v1/operator/venues{path}"
        return asyncio.run(ask(app, method, at, raw, f"Bearer {KEY}", urlencode(query, doseq=True)))

    return call


@pytest.fixture
def kept(database_url):
    def slugs():
        with psycopg.connect(database_url) as conn:
            return [one.slug for one in newest_venues(conn)]

    return slugs


def test_a_file_is_looked_at_before_it_is_kept(venues, kept):
    seen = venues("POST", "/preview", CSV, name="Grand")
    assert (seen.status, seen.json["format"]) == (200, "csv")
    holds = seen.json["holds"]
    assert (holds["name"], holds["seats"], holds["rows"], holds["house_minor"]) == ("Grand", 3, 2, 23_000)
    assert [(one["name"], one["seats"], one["price_minor"]) for one in holds["categories"]] == [
        ("Gold", 2, 9_000),
        ("Silver", 1, 5_000),
    ]
    assert len(seen.json["plan"]["seats"]) == 3
    assert (holds["warnings"], kept()) == ([], [])


def test_prices_areas_and_the_stage_are_said_beside_the_file(venues):
    raw = (PLANS / "pretix_playhouse.json").read_bytes()
    seen = venues("POST", "/preview", raw).json
    dearer = [f"{one['name']}=12.50" for one in seen["holds"]["categories"]]
    again = venues("POST", "/preview", raw, price=dearer, currency="USD", stage="10,5").json
    assert {one["price_minor"] for one in again["holds"]["categories"]} == {1_250}
    assert (again["plan"]["currency"], again["plan"]["focal_x"]) == ("USD", 10)


def test_a_drawn_area_is_named_and_becomes_a_standing_area_when_asked(venues):
    plan: dict[str, Any] = {
        "name": "Club",
        "categories": [{"name": "Floor"}],
        "zones": [
            {
                "name": "Front",
                "position": {"x": 0, "y": 0},
                "rows": [],
                "areas": [
                    {
                        "position": {"x": 0, "y": 40},
                        "rectangle": {"width": 60, "height": 30},
                        "text": {"text": "Pit"},
                    },
                    {
                        "position": {"x": 0, "y": 0},
                        "rectangle": {"width": 60, "height": 9},
                        "text": {"text": "Stage"},
                    },
                ],
            }
        ],
    }
    raw = msgspec.json.encode(plan)
    refused = venues("POST", "/preview", raw)
    assert (refused.status, refused.json["code"]) == (400, "plan_invalid")
    sold = venues("POST", "/preview", raw, area="Pit=400:Floor").json
    assert (sold["holds"]["places"], sold["drawn"], sold["holds"]["areas"][0]["name"]) == (400, [], "Pit")
    plan["zones"][0]["rows"] = [
        {"row_number": "1", "seats": [
            {"seat_guid": "a", "seat_number": "1", "position": {"x": 0, "y": 90}, "category": "Floor"}
        ]}
    ]  # fmt: skip
    seen = venues("POST", "/preview", msgspec.json.encode(plan)).json
    assert seen["drawn"] == ["Pit"]
    assert "only drawn, nobody can buy places in them: Pit" in " ".join(seen["holds"]["warnings"])


def test_what_looks_like_a_slip_is_a_warning(venues):
    raw = b"guid,section,row,number,category,price,x,y\na,S,A,1,Gold,9,1,1\nb,S,A,1,Free,0,1,1\n"
    told = " ".join(venues("POST", "/preview", raw).json["holds"]["warnings"])
    for slip in ("called the same", "same spot", "'Free' costs nothing"):
        assert slip in told


def _zip() -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("plan.csv", CSV)
    return packed.getvalue()


@pytest.mark.parametrize(
    ("raw", "says"),
    [
        (b"", "empty"),
        (_zip(), "zip archive or a spreadsheet"),
        (gzip.compress(CSV), "send it unpacked"),
        (b"%PDF-1.7", "a PDF"),
        (b"\x89PNG\r\n\x1a\n", "a picture"),
        (b"<svg/>", "SVG"),
        (CSV + b"C-1,St\xffalls,C,1,Gold,\n", "line 5"),
        ("guid,section\n".encode("utf-16"), "UTF-16"),
        (b"guid,section,row,number,category\nA-1,S,A,1,Gold\n", "line 2, column price"),
        (b"[" * 100_000, "file"),
        (b'{"extra": ' + b'{"a":' * 50_000, "nested too deeply"),
        (b'{"name": "x", "zones": [}', "line 1, column 25"),
        (b'{"name": "x", "zones": 3, "categories": []}', "zones"),
    ],
)
def test_a_wrong_file_names_line_or_field_and_nothing_is_kept(venues, kept, raw, says):
    for path in ("/preview", ""):
        refused = venues("POST", path, raw, slug="hall") if not path else venues("POST", path, raw)
        assert (refused.status, refused.json["code"]) == (400, "plan_invalid")
        assert says in refused.json["detail"]
    assert kept() == []


@pytest.mark.parametrize(
    ("query", "says"),
    [
        ({"price": "Gold=many"}, "price Gold=many"),
        ({"price": "Bronze=3"}, "no such category"),
        ({"area": "Floor"}, "area Floor"),
        ({"area": "Floor=10:Gold"}, "CSV"),
        ({"stage": "left"}, "stage"),
    ],
)
def test_what_is_said_beside_a_file_is_checked_too(venues, query, says):
    refused = venues("POST", "/preview", CSV, **query)
    assert (refused.status, refused.json["code"]) == (400, "plan_invalid")
    assert says in refused.json["detail"]


class _Body(Request):
    """A request that goes on sending for as long as it is read."""

    def __init__(self, told: int | None, chunk: bytes) -> None:
        headers = [] if told is None else [(b"content-length", str(told).encode())]
        super().__init__({"type": "http", "headers": headers})
        self.chunk, self.read = chunk, 0

    async def stream(self):
        while True:
            self.read += len(self.chunk)
            yield self.chunk


def test_a_huge_upload_is_refused_by_its_length_or_as_soon_as_it_is_too_much():
    told = _Body(2**30, bytes(2**16))
    with pytest.raises(TooLarge):
        asyncio.run(uploads.read_raw(told, PLAN_BYTES_MAX))
    assert told.read == 0
    untold = _Body(None, bytes(2**16))
    with pytest.raises(TooLarge):
        asyncio.run(uploads.read_raw(untold, PLAN_BYTES_MAX))
    assert untold.read <= PLAN_BYTES_MAX + 2**16


def test_only_a_few_uploads_are_under_way_at_once():
    async def scene():
        there, release = uploads.Uploads(), asyncio.Event()

        class Slow(_Body):
            async def stream(self):
                await release.wait()
                yield b"x"

        under_way = [
            asyncio.create_task(there.take(Slow(None, b""), 10, bytes.upper))
            for _ in range(uploads.UNDER_WAY_MAX)
        ]
        await asyncio.sleep(0)
        with pytest.raises(Busy):
            await asyncio.wait_for(there.take(Slow(None, b""), 10, bytes.upper), 10)
        release.set()
        assert await asyncio.gather(*under_way) == [b"X"] * uploads.UNDER_WAY_MAX
        assert await there.take(Slow(None, b""), 10, bytes.upper) == b"X"

    asyncio.run(scene())


def test_a_plan_is_kept_once_and_never_changes(venues, kept):
    made = venues("POST", "", CSV, name="Grand Théâtre")
    assert (made.status, made.headers["location"]) == (201, "/v1/operator/venues/grand-theatre")
    assert venues("POST", "", CSV, name="Grand Théâtre").status == 201
    other = venues("POST", "", CSV, name="Grand Théâtre", price="Gold=1")
    assert (other.status, other.json["code"]) == (409, "venue_exists")
    assert kept() == ["grand-theatre"]
    shown = venues("GET", "/grand-theatre").json
    assert (shown["holds"]["seats"], len(shown["plan"]["seats"])) == (3, 3)
    assert venues("GET", "/nowhere").json["code"] == "unknown_venue"


def test_a_venue_is_made_and_listed(venues):
    wish = {"kind": "arena", "seats": 40, "standing": 60, "name": "Bowl"}
    seen = venues("POST", "/make/preview", msgspec.json.encode(wish)).json
    assert (seen["holds"]["seats"], seen["holds"]["places"], seen["format"]) == (40, 60, None)
    assert venues("GET").json["venues"] == []
    made = venues("POST", "/make", msgspec.json.encode(wish | {"slug": "bowl-1"}))
    assert (made.status, made.json["holds"]["plan_sha256"]) == (201, seen["holds"]["plan_sha256"])
    [listed] = venues("GET").json["venues"]
    assert (listed["slug"], listed["name"], listed["seats"], listed["standing"]) == ("bowl-1", "Bowl", 40, 60)
    wrong = venues("POST", "/make", msgspec.json.encode(wish | {"seats": 0}))
    assert (wrong.status, wrong.json["code"]) == (400, "plan_invalid")


def test_nobody_sends_a_plan_without_the_key(engine_urls):
    app = app_for(engine_urls)
    for path in ("/venues", "/venues/preview", "/venues/make", "/venues/make/preview", "/launches"):
        assert asyncio.run(ask(app, "POST", f"/v1/operator{path}", CSV)).status == 401
