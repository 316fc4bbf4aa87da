"""Every law, demanded of a run that has come to rest; and what each COMMIT must keep.

`bench.checker` judges tables, order and what clients saw, by arithmetic of its own; here are the rest:
the ledger decided again, memories that agree, everything at rest.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, cast

import msgspec

from allocator.decide import NO_SUCH_HOLD
from allocator.follow import decode_fact
from allocator.memory import Memory
from allocator.replay import Batch, decide_again
from allocator.wishes import Wishes
from bench.checker import judge
from bench.evidence import AreaRow, Change, Finding, LedgerRow, TourSeen, Truth
from bench.evidence import Batch as Head
from bench.evidence import HoldRow as HeldRow
from store.ledger import DIGEST_BYTES, GENESIS, batch_hash, row_digest
from store.lookups import Key
from store.lost_time import OUTAGE_SECONDS
from store.stream.port import REQUEST, RawEntry
from store.wire import arrival_order, decode_entry
from store.words import Arrival, EventState, Policy
from tests.allocator.house import snapshot
from tests.simulation import returned, room_laws
from tests.simulation.clients import all_seen
from tests.simulation.gateways import EVENT
from tests.simulation.load import load_memory
from tests.simulation.postgres import ONE, Database, HoldRow, Session
from tests.simulation.truth import known_keys
from tests.simulation.world import SECOND, World

if TYPE_CHECKING:
    from tests.simulation.on_sale import OnSale


_ARRIVAL = re.compile(r"\d+-\d+")
_ACCEPTED = re.compile(r"(\S+)'s request (\S+) was accepted as ")


HAND = {
    "block": "blocked",
    "unblock": "unblocked",
    "sell": "sold",
    "return": "returned",
    "recategorise": "recategorised",
}
"""An operator's change, and the fact it is in the ledger."""
NO_SEATS = {"release", "return", "admission", "room", "revoke codes", "state"}
"""Changes that are in no fact of their own."""
BY_HAND = set(HAND.values()) - {"returned"}
"""For what came back see `tests.simulation.returned`: buyers return too."""


class OnCommit:
    """Looks at each transaction before it becomes true."""

    def __init__(self, database: Database, world: World) -> None:
        self._database = database
        self._world = world

    def __call__(self, session: Session) -> None:
        changes = session.pending
        for batch_no, batch in changes.get("ledger_batch", {}).items():
            before = self._database.rows["cursor"][ONE]
            if batch.epoch != before.epoch:
                self._broken(f"batch {batch_no} of epoch {batch.epoch} was written in epoch {before.epoch}")
            if batch_no != before.batch_no + 1:
                self._broken(f"batch {batch_no} follows batch {before.batch_no}")
            if batch.batch_time < before.batch_time:
                self._broken(f"time went backwards in batch {batch_no}")
        for area, row in changes.get("area", {}).items():
            if min(row[1:]) < 0 or sum(row[1:]) > row.capacity:
                self._broken(f"area {area} counts {row}")
        tour = self._database.rows["event"][ONE].tour
        if tour is not None and (holds := changes.get("hold")):
            for buyer in sorted({row.buyer for row in holds.values() if _counts(row)}):
                quantity = quantity_on_all_dates(self._database, buyer, holds)
                if quantity > tour.seats_per_buyer_max:
                    self._broken(f"over_limit: {buyer} has {quantity} on the dates of a tour: {tour}")
        if "lease" in changes or "cursor" in changes:
            self._time_is_given_back(changes)

    def _time_is_given_back(self, changes: dict[str, dict[Any, Any]]) -> None:
        """The first sign of life after an outage comes with the time for what ran at the last one."""
        rows = self._database.rows
        before, paused_at = self._database.last_sign(), rows["event"][ONE].paused_at
        lease = changes.get("lease", {}).get(ONE, rows["lease"][ONE])
        cursor = changes.get("cursor", {}).get(ONE, rows["cursor"][ONE])
        now = max(lease.renewed_at, lease.given_until, cursor.batch_time)
        out_us = OUTAGE_SECONDS * SECOND
        lost_us = min(now, paused_at or now) - before
        if lost_us <= out_us:
            return
        ran = [no for no, row in rows["hold"].items() if row.state == "active" and row.expires_at > before]
        facts = [row for row in changes.get("fact", {}).values() if row is not None]
        given_us = sum(msgspec.json.decode(row.body)["lost_us"] for row in facts if row.kind == "outage")
        if ran and not lost_us - out_us <= given_us <= lost_us:
            self._broken(f"nobody attended for {lost_us} µs, and holds {ran[:3]} got {given_us}")

    def _broken(self, story: str) -> None:
        self._world.note("law", story)
        self._world.broken.append(story)


def _counts(row: HoldRow) -> bool:
    return row.kind == "buyer" and row.state in ("active", "paid")


def quantity_on_all_dates(database: Database, buyer: str, changed: dict[int, HoldRow]) -> int:
    """What the buyer has on all events of the server, holds and orders; `changed`: the holds of this one that
    a transaction is about to write."""
    rows = [
        row
        for one in database.server.databases
        for row in (one.rows["hold"] | (changed if one is database else {})).values()
    ]
    return sum([row.quantity for row in rows if row.buyer == buyer and _counts(row)])


class OnTrim:
    """Looks at what is trimmed from the stream: a request that nobody decided is somebody's, whoever still
    lives to ask for it again."""

    def __init__(self, database: Database, world: World) -> None:
        self._database = database
        self._world = world

    def __call__(self, trimmed: Sequence[RawEntry], left: Sequence[RawEntry]) -> None:
        """`left`: what stays; what was appended again is there."""
        asked = dict(_keys_of(trimmed))
        decided = known_keys(self._database, list(asked))
        if forgotten := asked.keys() - decided.keys():
            forgotten -= dict(_keys_of(left)).keys()
        for key in sorted(forgotten):
            story = f"lost: {key[0]}'s request {key[1]} was trimmed as {asked[key]}, and never decided"
            self._world.note("law", story)
            self._world.broken.append(story)


def _keys_of(entries: Sequence[RawEntry]) -> Iterator[tuple[Key, str]]:
    for raw_id, (field, value) in entries:
        if field == REQUEST:
            with suppress(msgspec.DecodeError):
                entry = decode_entry(value)
                key = (entry.buyer, entry.request_id)
                if min("".join(key)) >= " ":  # other names are nobody's
                    yield key, raw_id.decode()


def restless(sale: OnSale) -> str:
    """What has not come to rest, or nothing."""
    rows = sale.database.rows
    if rows["fact"]:
        return f"{len(rows['fact'])} facts are not consumed"
    waiting = [(client.buyer, *client.waiting) for client in sale.people.clients if client.waiting]
    if waiting:
        return f"{len(waiting)} clients wait: {waiting[:3]}"
    if sale.people.payers is not None and (unpaid := next(sale.people.payers.unfinished(), "")):
        return unpaid
    if sale.people.visitors is not None and (unfinished := sale.people.visitors.unfinished()):
        return unfinished
    active = [hold_id for hold_id, row in rows["hold"].items() if row.state == "active"]
    if active:
        return f"holds {active[:3]} have not run out"
    undecided = [len(one.intake.undecided) for one in sale.house.gateways if not one.host.dead]
    if any(undecided):
        return f"gateways wait for {undecided} decisions"
    cursor = arrival_order(rows["cursor"][ONE].arrival)
    left = [
        raw_id
        for at, (raw_id, fields) in zip(sale.stream.ids, sale.stream.entries, strict=True)
        if fields[0] == REQUEST and at > cursor
    ]
    if left:
        return f"{len(left)} entries above the cursor"
    alive = _agreeing(sale)
    if not any(one.owns for one in alive):
        return "nobody owns the event"
    for one in alive:
        if one.follower is None or _memory_of(one).batch_no != rows["cursor"][ONE].batch_no:
            return f"{one.host.name} is not at the last batch"
    return ""


def _agreeing(sale: OnSale) -> list[Any]:
    """Allocators that live: whoever was replaced learns it at its next batch, or cannot renew."""
    return [one for one in sale.house.allocators if not one.host.dead]


def demand(sale: OnSale) -> list[str]:
    """The laws that do not hold."""
    findings = judge(all_seen(sale.people.clients), truth_of(sale))
    found = [f"{finding.kind}: {finding.story}" for finding in findings if not _excused(sale, finding)]
    unrest = restless(sale)
    if unrest:
        found.append(f"it did not come to rest: {unrest}")
    found.extend(_chain(sale))
    found.extend(_replay(sale))
    found.extend(_audited(sale))
    found.extend(returned.unexplained(sale.database))
    if sale.people.payers is not None:
        found.extend(sale.people.payers.demand())
    if sale.people.visitors is not None:
        found.extend(room_laws.demand(sale))
    if not unrest:
        found.extend(_memories(sale))
    return found


def _excused(sale: OnSale, finding: Finding) -> bool:
    """What DESIGN allows: see there, law 2 and law 3, and docs/simulation.md."""
    stream = sale.stream
    arrivals = _ARRIVAL.findall(finding.story)
    late = any(arrival in stream.lost or arrival in stream.behind for arrival in arrivals)
    if finding.kind == "reordered" and stream.lost_late and late:
        return True
    if finding.kind == "lost" and (key := _ACCEPTED.match(finding.story)):
        return _nobody_knew(sale, key.group(1), key.group(2))
    return False


def _nobody_knew(sale: OnSale, buyer: str, request_id: str) -> bool:
    """Whether the stream lost the request, and whoever waited for it left when their gateway died, or asked
    again and was refused as if for the first time.

    That each of its entries was lost follows: none is left, and none was trimmed undecided (`OnTrim`).
    """
    people, stream, key = sale.people, sale.stream, (buyer, request_id)
    gone = key in people.left or key in people.refused
    return gone and key in stream.lost_keys and key not in dict(_keys_of(stream.entries))


def truth_of(sale: OnSale) -> Truth:
    """The virtual tables as the checker reads the real ones."""
    rows = sale.database.rows
    batches = sorted(rows["ledger_batch"].items())
    cursor = rows["cursor"][ONE]
    return Truth(
        slug=EVENT,
        plan=sale.layout.plan,
        seats=[(seat, state, hold_id) for seat, (state, hold_id) in sorted(rows["seat"].items())],
        areas=[AreaRow(area, *row) for area, row in sorted(rows["area"].items())],
        holds=[
            HeldRow(no, row.buyer, row.request_id, row.state, row.quantity)
            for no, row in sorted(rows["hold"].items())
        ],
        hold_seats=sorted(rows["hold_seat"].items()),
        hold_areas=[(hold_id, area, count) for (hold_id, area), count in sorted(rows["hold_area"].items())],
        history=[Change(*change) for change in sale.database.history],
        ledger=[LedgerRow(*at, *row) for at, row in sorted(rows["ledger"].items())],
        batches=[
            Head(no, row.epoch, row.batch_time, row.arrival, len(row.digests) // DIGEST_BYTES)
            for no, row in batches
        ],
        cursor_batch_no=cursor.batch_no,
        cursor_arrival=cursor.arrival,
        waiting=[(no, row.buyer, row.request_id, row.state) for no, row in sorted(rows["waiting"].items())],
        facts=[
            ("released_some" if fact.kind == "released" and fact.body != "null" else fact.kind, fact.hold_id)
            for fact in rows["fact"].values()
        ],
        tour=_tour_of(sale),
    )


def _tour_of(sale: OnSale) -> TourSeen | None:
    tour = sale.database.rows["event"][ONE].tour
    if tour is None:
        return None
    buyers = sorted(sale.people.buyers)
    counts = [(buyer, quantity_on_all_dates(sale.database, buyer, {})) for buyer in buyers]
    return TourSeen(tour.seats_per_buyer_max, counts)


def _batches(sale: OnSale) -> list[Batch]:
    rows = sale.database.rows
    by_batch: dict[int, list[Any]] = {}
    for (batch_no, _), row in sorted(rows["ledger"].items()):
        by_batch.setdefault(batch_no, []).append(row)
    return [
        Batch(no, row.epoch, row.batch_time, Arrival(row.arrival), row.code_version, row.digests, row.hash,
              by_batch.get(no, []), list(range(len(by_batch.get(no, [])))))
        for no, row in sorted(rows["ledger_batch"].items())
    ]  # fmt: skip


def _chain(sale: OnSale) -> list[str]:
    """Each batch's hash follows from the one before and from its rows."""
    before = GENESIS
    for batch in _batches(sale):
        digests = b"".join([row_digest(row) for row in batch.rows])
        head = (batch.batch_no, batch.epoch, batch.batch_time, batch.arrival, batch.code_version)
        if digests != batch.digests or batch_hash(before, *head, digests) != batch.hash:
            return [f"unexplained: the hash of batch {batch.batch_no} does not follow"]
        before = batch.hash
    return []


def _replay(sale: OnSale) -> list[str]:
    """The ledger, decided again, gives the same answers; each fact is consumed once."""
    memory, wishes = Memory(sale.layout, Policy(EventState.DRAFT)), Wishes(sale.layout)
    facts: Counter[int] = Counter()
    for batch in _batches(sale):
        wishes = wishes.by(memory.layout)
        of_the_table = [row for row in batch.rows if row.kind == "fact" and row.outcome != "elsewhere"]
        facts.update(decode_fact(row.input).fact for row in of_the_table)
        try:
            again = decide_again(memory, wishes, batch)
        except (AssertionError, KeyError) as error:
            return [f"unexplained: batch {batch.batch_no} cannot be decided again: {error!r}"]
        if again != batch.rows:
            said, other = next(pair for pair in zip_longest(batch.rows, again) if pair[0] != pair[1])
            return [f"unexplained: batch {batch.batch_no} says {said}, decided again {other}"]
    return [f"doubled: fact {fact} was consumed {times} times" for fact, times in facts.items() if times > 1]


def _audited(sale: OnSale) -> list[str]:
    """Each operator's change of seats is in the ledger once, in order, and says who and why."""
    changes = [msgspec.json.decode(what) for _, _, what in sale.database.rows["audit"].values()]
    audited = [HAND[change["change"]] for change in changes if change["change"] not in NO_SEATS]
    audited += ["blocked" for change in changes if change.get("taken_off_sale")]
    told = [row.outcome for _, row in sorted(sale.database.rows["ledger"].items()) if row.outcome in BY_HAND]
    if Counter(told) == Counter(audited):
        return []
    return [f"unexplained: operators made {Counter(audited)}, the ledger has {Counter(told)}"]


def _memory_of(allocator: Any) -> Memory:
    owns = allocator.owns and allocator.loop is not None
    return cast("Memory", allocator.loop.memory if owns else allocator.follower.memory)


def _memories(sale: OnSale) -> list[str]:
    """Owner and standbys know what the tables say, and every decided key."""
    found = []
    expected = _comparable(load_memory(sale.database, sale.layout)[0])
    keys = {
        (row.buyer, row.request_id) for row in sale.database.rows["ledger"].values() if row.kind == "request"
    }
    for one in _agreeing(sale):
        mine = _comparable(_memory_of(one))
        for name, value in expected.items():
            if mine[name] != value:
                found.append(f"unexplained: {one.host.name}'s {name} is {mine[name]}, the tables say {value}")
        missing = [key for key in keys if hash(key) not in one.follower.keys._hashes]
        if missing:
            found.append(f"unexplained: {one.host.name} does not know the keys {sorted(missing)[:3]}")
    return found


def _comparable(memory: Memory) -> dict[str, Any]:
    looked_at = snapshot(memory)
    looked_at["policy"] = msgspec.structs.replace(looked_at["policy"], holds_extended_us=0)
    del looked_at["reflected"]  # facts that a load has seen; of no meaning once they are consumed
    return looked_at


def counted(sale: OnSale) -> Counter[str]:
    """Rare paths, by what the ledger says of them."""
    counters = room_laws.counted(sale)
    for row in sale.database.rows["ledger"].values():
        counters[str(row.kind)] += row.kind != "request"
        counters["left"] += row.outcome == "left"
        counters["elsewhere"] += row.outcome == "elsewhere"
        counters["outage"] += row.outcome == "outage"
        counters["recategorised"] += row.outcome == "recategorised"
        counters["passed_over"] += row.kind == "offer" and '"passed_over":0' not in row.result
        if row.kind == "request":
            counters[str(row.outcome)] += 1
            counters["alert_invalid"] += row.result == '{"reason":"undecidable"}'
            counters["moved"] += '"moved":' in row.result
            counters["kept"] += '"kept":' in row.result
            counters["no_such_hold"] += row.result == NO_SUCH_HOLD
            counters["waiting_bound"] += '"reason":"waiting"' in row.result
            counters["unreadable"] += row.result == '{"reason":"unreadable"}'
            counters["category_refused"] += row.outcome == "limit_reached" and '"category":' in row.result
            counters["tour_refused"] += '"reason":"tour_limit"' in row.result
    return counters
