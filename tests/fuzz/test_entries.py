"""Whatever bytes are in the stream: each entry gets its line in the ledger, and the allocator goes on."""

from __future__ import annotations

import contextlib
import json
import logging

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from allocator.intake import read_entries, undecided
from allocator.layout import Layout
from allocator.wishes import Wishes
from store.stream.port import REQUEST
from store.wire import decode_entry
from store.words import Best, Want
from tests.allocator.house import check_laws, entry, owner_of, plan_of, seats
from tests.fuzz.mutations import damaged, disturbed
from tests.profiles import searching

BATCH = 40
VALID = [
    entry("ann", "r1", seats("A-1")),
    entry("bob", "r2", Want(("A-2", "A-3"), Best(2, "Stalls", "Gold"), {"floor": 2})),
    entry("cem", "r3", Want(areas={"floor": 1}), first_arrival="7-3"),
    entry("é", "r.~-4", Want(best=Best(1))),
]
entries = damaged(VALID) | disturbed([json.loads(raw) for raw in VALID]).map(lambda v: json.dumps(v).encode())


def key_of(raw: bytes) -> tuple[str, str] | None:
    """Of a repeat, which has no line of its own."""
    with contextlib.suppress(msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        read = decode_entry(raw)
        return read.buyer, read.request_id
    return None


def test_reading_never_raises_and_never_drops():
    wishes = Wishes(Layout(plan_of()))

    @searching(500)
    @given(st.lists(entries, min_size=1, max_size=5))
    def judge(raws: list[bytes]) -> None:
        read = [(f"{n + 1}-0".encode(), [REQUEST, raw]) for n, raw in enumerate(raws)]
        arrived = read_entries(read, wishes)
        assert len(arrived.asks) == len(arrived.gateways) == len(raws)
        for ask in arrived.asks:
            json.loads(ask.want)  # the ledger keeps it as JSON
            assert ask.wish.reason or all(option.quantity for option in ask.wish.options)
        for again in undecided(read, lambda keys: {}):
            assert decode_entry(again).first_arrival

    judge()


def test_every_entry_is_decided_and_the_owner_goes_on(database_url, redis_url, caplog):
    """Batches of damaged entries through a real owner; a good request behind each is held or taken."""
    caplog.set_level(logging.ERROR)
    with owner_of(database_url, redis_url) as owner:

        @searching(12)
        @given(st.lists(entries, min_size=BATCH // 2, max_size=BATCH))
        def judge(raws: list[bytes]) -> None:
            arrivals = owner.append(raws)
            owner.loop.turn()
            assert owner.loop.cursor.arrival == arrivals[-1], "the cursor passed them all"
            rows = owner.query("SELECT arrival, buyer, request_id FROM ledger WHERE kind = 'request'")
            by_arrival, by_key = {row[0] for row in rows}, {(row[1], row[2]) for row in rows}
            for arrival, raw in zip(arrivals, raws, strict=True):
                assert arrival in by_arrival or key_of(raw) in by_key, "each has its line, by place or by key"
            sane = entry("zoe", f"sane-{arrivals[-1]}", seats("B-1"))
            assert owner.outcomes(sane) in (["held"], ["taken"])

        judge()
        check_laws(database_url, owner.event_id)
    assert not [record for record in caplog.records if "ALERT" in record.getMessage()]
