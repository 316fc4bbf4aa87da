"""Faults in withdrawing codes of a waiting room."""

from __future__ import annotations

from tests.mutants.mutant import In, Kind, Mutant

REVOKED = "tests/store/room/test_revoked.py"
codes = In("store/room/codes.py")
operating = In("store/room/operating.py")

MUTANTS: list[Mutant] = [
    codes(
        Kind.CONDITION,
        "a code that was revoked lets nobody in",
        "CASE WHEN revoked_at IS NULL THEN least",
        "CASE WHEN true THEN least",
        f"{REVOKED}::test_a_revoked_label_lets_nobody_in_and_who_is_in_by_it_keeps_place_and_lane",
        more=(("revoked_at IS NOT NULL AS revoked,", "false AS revoked,"),),
    ),
    codes(
        Kind.CONDITION,
        "another event's codes are not revoked",
        "   WHERE event_id = %(event)s AND {} AND revoked_at IS NULL\n",
        "   WHERE {} AND revoked_at IS NULL\n",
        f"{REVOKED}::test_another_events_codes_are_not_revoked",
    ),
    codes(
        Kind.CONDITION,
        "of codes that are revoked all are known, or none is revoked",
        "    if unknown := conn.execute(UNKNOWN, values).fetchall():\n",
        "    if len(unknown := conn.execute(UNKNOWN, values).fetchall()) == len(shown):\n",
        f"{REVOKED}::test_single_codes_are_revoked_all_or_none",
    ),
    operating(
        Kind.OVERLAY,
        "a join stands before a code is revoked, or finds it revoked",
        "        _locked(conn, event)\n        if label is None:\n",
        "        if label is None:\n",
        f"{REVOKED}::test_a_code_is_revoked_once_who_joins_by_it_is_done",
    ),
]
