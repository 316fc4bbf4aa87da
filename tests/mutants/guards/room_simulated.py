"""Faults in waiting rooms that whole on-sales with trouble show, whatever their own tests say."""

from __future__ import annotations

from tests.mutants.mutant import In, Kind, Mutant

LAWS = "tests/simulation/test_simulation.py::test_every_law_of_a_waiting_room_holds_after_whatever_went_wrong"

MUTANTS: list[Mutant] = [
    In("allocator/ballot.py")(
        Kind.STREAM,
        "in an on-sale a ballot goes on with the first wish that the ledger lacks",
        "self._after, self._last = Rank(rank.lane, rank.position - 1), None",
        "self._after, self._last = Rank(rank.lane, rank.position), None",
        LAWS,
    ),
    In("allocator/keeper.py")(
        Kind.COUNT,
        "in an on-sale who is inside is counted before others are called",
        "            inside = admitting.inside(self._conn, self._event_id, most) - ending\n",
        "            inside = min(0, admitting.inside(self._conn, self._event_id, most) - ending)\n",
        LAWS,
    ),
    In("gateway/room/waiting_room.py")(
        Kind.GATE,
        "in an on-sale nobody asks for seats who was never called",
        "return None if self._in_time(known) else self._refusal(known)",
        "return None",
        LAWS,
    ),
    In("store/room/admitting.py")(
        Kind.COUNT,
        "in an on-sale nothing is admitted where a place is not as it was read",
        "    if changed != count:\n",
        "    if changed > count:\n",
        LAWS,
    ),
]
