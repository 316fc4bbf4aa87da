"""A small clean sale by hand, as the database and the clients would have it; tests corrupt it.

The theatre has four seats in one row and a floor for three. In ledger order: ann gets s1 (batch 1), bob
is refused s1 and asks again, cem gets s2 and two places on the floor, ann's key comes again with other
content; ann releases (batch 2), then dan gets s1; cem pays (batch 3); dan's hold expires and eve gets
s1 (batch 4). fay was refused s2 at the gate and never queued.
"""

from __future__ import annotations

from bench.evidence import AreaRow, Ask, Batch, Change, HoldRow, LedgerRow, Seen, Truth
from store.plan import Area, Block, Category, Plan, Seat, Section
from store.wire import decision_frame

GUIDS = ("s1", "s2", "s3", "s4")
ANN, CEM, DAN, EVE = 1 << 16 | 0, 1 << 16 | 2, 2 << 16 | 1, 4 << 16 | 1
MS = 1_000_000


def plan() -> Plan:
    return Plan(
        "Small",
        "EUR",
        (Category("A", 1000, "EUR", "#112233"),),
        (Section("Stalls"),),
        tuple(Seat(guid, 0, "A", guid, 0, float(x), 0.0) for x, guid in enumerate(GUIDS)),
        (Block(0, 4, 0, 0),),
        (Area("floor", "Floor", 0, 3, 0.0, 5.0, 10.0, 5.0),),
        0.0,
        -5.0,
        10.0,
        10.0,
    )


def seat_want(guid: str) -> str:
    return f'{{"seats":["{guid}"]}}'


def held(hold: int, seats: str, areas: str = "") -> str:
    return f'{{"hold":"{hold}","seats":[{seats}],"areas":{{{areas}}},"expires_at":1000}}'


def request(at: tuple[int, int], arrival: str, buyer: str, want: str, outcome: str, result: str) -> LedgerRow:
    return LedgerRow(*at, "request", arrival, buyer, "r1", want, outcome, result)


CEMS_WANT = '{"seats":["s2"],"areas":{"floor":2}}'
LEDGER = [
    request((1, 0), "100-0", "ann", seat_want("s1"), "held", held(ANN, '"s1"')),
    request((1, 1), "100-1", "bob", seat_want("s1"), "taken", '{"taken":["s1"]}'),
    request((1, 2), "100-2", "cem", CEMS_WANT, "held", held(CEM, '"s2"', '"floor":2')),
    request((1, 3), "100-3", "ann", seat_want("s3"), "conflict", '{"reason":"key_reused"}'),
    LedgerRow(2, 0, "fact", "", "", "", f'{{"fact":1,"hold":"{ANN}","body":null}}', "released", "{}"),
    request((2, 1), "200-0", "dan", seat_want("s1"), "held", held(DAN, '"s1"')),
    LedgerRow(3, 0, "fact", "", "", "", f'{{"fact":2,"hold":"{CEM}","body":null}}', "paid", "{}"),
    LedgerRow(4, 0, "expired", "", "", "", f'{{"hold":"{DAN}"}}', "expired", "{}"),
    request((4, 1), "400-0", "eve", seat_want("s1"), "held", held(EVE, '"s1"')),
]


def truth() -> Truth:
    return Truth(
        slug="small",
        plan=plan(),
        seats=[(0, "held", EVE), (1, "sold", CEM), (2, "available", None), (3, "available", None)],
        areas=[AreaRow(0, 3, 0, 2, 0)],
        holds=[
            HoldRow(ANN, "ann", "r1", "released", 1),
            HoldRow(CEM, "cem", "r1", "paid", 3),
            HoldRow(DAN, "dan", "r1", "expired", 1),
            HoldRow(EVE, "eve", "r1", "active", 1),
        ],
        hold_seats=[(0, EVE), (1, CEM)],
        hold_areas=[(CEM, 0, 2)],
        history=[
            Change(0, 1, "held", ANN, "allocator"),
            Change(1, 1, "held", CEM, "allocator"),
            Change(0, 2, "available", ANN, "buyer"),
            Change(0, 3, "held", DAN, "allocator"),
            Change(1, 4, "sold", CEM, "buyer"),
            Change(0, 5, "available", DAN, "expiry"),
            Change(0, 6, "held", EVE, "allocator"),
        ],
        ledger=list(LEDGER),
        batches=[
            Batch(1, 1, 10, "100-3", 4),
            Batch(2, 1, 20, "200-0", 2),
            Batch(3, 1, 30, "200-0", 1),
            Batch(4, 1, 40, "400-0", 2),
        ],
        cursor_batch_no=4,
        cursor_arrival="400-0",
    )


def frame(row: LedgerRow) -> bytes:
    return decision_frame(row.request_id, row.arrival, row.outcome, row.result)


def asked(row: LedgerRow, sent_ms: int) -> Ask:
    """Sent at `sent_ms`, acknowledged a millisecond later, decided two after."""
    sent = sent_ms * MS
    decided = [(sent + 2 * MS, frame(row))]
    return Ask(row.request_id, row.input, [sent], [(sent + MS, row.arrival)], decided)


def seen() -> list[Seen]:
    ann, bob, cem, other, _, dan, _, _, eve = LEDGER
    bobs = asked(bob, 100)
    bobs.sent_ns.append(150 * MS)
    bobs.decisions.append((151 * MS, frame(bob)))
    gone = (401 * MS, b'{"type":"not_queued","id":"r1","reason":"held","taken":["s2"]}')
    return [
        Seen("ann", [asked(ann, 100), asked(other, 110)]),
        Seen("bob", [bobs]),
        Seen("cem", [asked(cem, 100)]),
        Seen("dan", [asked(dan, 200)]),
        Seen("eve", [asked(eve, 400)]),
        Seen("fay", [Ask("r1", seat_want("s2"), [400 * MS], not_queued=[gone])]),
    ]
