"""One hold is found by its number, whatever statistics know of holds that are active."""

from __future__ import annotations

import re

import pytest

from store import blocks, hold_parts, holds
from store.lookups import PLAN_BY_KEY
from store.payments import begin, buying
from tests.store.test_holds import conn, event  # noqa: F401

BY_NUMBER = {
    "paid": holds.PAY,
    "given back": holds.GIVE_BACK,
    "extended": holds.EXTEND,
    "made smaller": hold_parts.KEEP_FEWER,
    "taken by an operator": blocks.RELEASE,
    "begun to pay": begin.LOCK_HOLD,
    "looked at": buying.LOCK_HOLDS,
    "bought": buying.PAY,
}
HOLDS = """
INSERT INTO hold (event_id, hold_id, buyer, request_id, quantity, expires_at, state)
SELECT %s, n, 'ann', 'r1', 1, now() + interval '1 hour', %s FROM generate_series(%s::int, %s) AS n
"""


@pytest.mark.parametrize("known", [(), ("released", 1, 2_000)], ids=["nothing known", "others known"])
@pytest.mark.parametrize("statement", BY_NUMBER.values(), ids=BY_NUMBER)
def test_one_hold_is_found_by_its_number(conn, event, statement, known):  # noqa: F811
    """As a gateway asks. By the index of active holds all of the event's would be read for it."""
    if known:
        conn.execute(HOLDS, (event, *known))
        conn.execute("ANALYZE hold")
    conn.execute(HOLDS, (event, "active", 10_001, 11_000))
    conn.execute(PLAN_BY_KEY)
    names = list(dict.fromkeys(re.findall(r"%\((\w+)\)s", statement)))
    asked = re.sub(r"%\((\w+)\)s", lambda found: f"${names.index(found[1]) + 1}", statement)
    conn.execute(f"PREPARE asking AS {asked}")
    nothing = ", ".join(["NULL"] * len(names))
    plan = [line.strip() for (line,) in conn.execute(f"EXPLAIN EXECUTE asking ({nothing})").fetchall()]
    [at] = [number for number, line in enumerate(plan) if "Scan using hold_" in line]
    assert "hold_pkey on hold" in plan[at]
    assert re.match(r"Index Cond: .*event_id = .* AND .*hold_id = ", plan[at + 1]), plan
