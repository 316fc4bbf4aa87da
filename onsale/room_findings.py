"""What the doctor finds about waiting rooms: whether their gateways have a key in common.

Settings are those of the environment the doctor runs in, which in containers is a gateway's own (`docker
compose exec gateway python -m onsale doctor`). Where `./run up` runs, it made a key and gave it to all.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import psycopg
from psycopg.rows import tuple_row

from gateway.room.settings import RoomSettings
from gateway.settings import SettingNotValid
from onsale.findings import Finding, Level

NAMED_MAX: Final = 5
SET: Final = "set ONSALE_ROOM_KEY, the same for every gateway; make one with: openssl rand -hex 32"

ROOMS: Final = f"""
SELECT slug, count(*) OVER () FROM room JOIN event ON event.id = event_id WHERE event.state <> 'closed'
 ORDER BY event_id DESC LIMIT {NAMED_MAX}
"""

Conn = psycopg.Connection[Any]


def rooms(conn: Conn, environ: Mapping[str, str], *, runs: bool) -> Iterator[Finding]:
    """Nothing where no event has a room that is not over; `runs`: `./run up` has gateways here."""
    found = conn.cursor(row_factory=tuple_row).execute(ROOMS.encode()).fetchall()
    if not found:
        return
    more = found[0][1] - len(found)
    who = ", ".join(str(slug) for slug, _ in found) + (f" and {more} more" if more else "")
    if not runs:
        try:
            settings = RoomSettings.from_env(environ)
        except SettingNotValid as error:
            yield Finding(Level.BAD, "waiting rooms", f"a gateway with this does not start: {error}", SET)
            return
        if not settings.key:
            yield _without_key(who, environ)
            return
    yield Finding(Level.OK, "waiting rooms", f"{who}: gateways have a key in common")


def _without_key(who: str, environ: Mapping[str, str]) -> Finding:
    if environ.get("ONSALE_TOKEN_SECRET") or environ.get("ONSALE_JWKS_URL"):
        told = "of several gateways none takes a proof of work that another asked for"
        return Finding(Level.WARN, "waiting rooms", f"{who}: ONSALE_ROOM_KEY is not set; {told}", SET)
    told = f"{who}: ONSALE_ROOM_KEY is not set here, which is no gateway's environment"
    return Finding(Level.NOTE, "waiting rooms", told, "run the doctor in a gateway's to know of theirs")
