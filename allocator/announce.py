"""What is published after a batch: answers for each gateway that waits, what changed on the map, offers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from allocator.decided import Decided, Row
from allocator.intake import Sorted
from allocator.memory import BLOCKED, Memory
from store.wire import (
    STREAM_LOST,
    Delta,
    HoldNews,
    decision_frame,
    decisions_channel,
    encode_delta,
    encode_news,
    encode_published,
    holds_channel,
    offer_frame,
    seats_channel,
    time_back_frame,
)

Message = tuple[str, bytes]
"""(channel, bytes)"""


def answers(event: str, batch: Sorted, rows: Sequence[Row]) -> list[Message]:
    """One message per gateway. `rows` are the ledger's lines of `batch.asks`, in the same order."""
    by_gateway: defaultdict[str, list[tuple[str, str, bytes]]] = defaultdict(list)
    for (_, arrival, buyer, request_id, _, outcome, result), gateway in zip(
        rows, batch.gateways, strict=True
    ):
        by_gateway[gateway].append((buyer, request_id, decision_frame(request_id, arrival, outcome, result)))
    for gateway, index in batch.echoes:
        _, arrival, buyer, request_id, _, outcome, result = rows[index]
        by_gateway[gateway].append((buyer, request_id, decision_frame(request_id, arrival, outcome, result)))
    for gateway, buyer, request_id, frame in batch.repeats:
        by_gateway[gateway].append((buyer, request_id, frame))
    by_gateway.pop("", None)  # nobody waits for what nobody could read
    return [
        (decisions_channel(event, gateway), encode_published(published))
        for gateway, published in by_gateway.items()
    ]


def seat_changes(event: str, memory: Memory, batch_no: int, batch_time: int, decided: Decided) -> Message:
    """The `Delta` of a batch that is true. `memory` is after the batch: freed and taken again is held."""
    hold_of, holds = memory.hold_of, memory.holds
    freed = [hold for _, hold in decided.expired] + decided.freed_by_fact
    freed += [moved.hold for moved in decided.moved]
    areas = {area for hold in freed for area, _ in hold.areas}
    areas.update(area for claim in decided.claims for area, _ in claim.hold.areas)
    areas.update(area for blocks in decided.blocks_by_fact for area, _ in blocks.areas)
    turned = [seat for blocks in decided.blocks_by_fact for seat in blocks.seats]
    came_free = [seat for hold in freed for seat in hold.seats] + turned
    given = [claim.hold for claim in decided.claims]
    given += [holds[hold_id] for hold_id in decided.extended if hold_id in holds]
    held = [(seat, hold.expires_at) for hold in given for seat in hold.seats]
    delta = Delta(
        batch_no,
        batch_time,
        held,
        [seat for seat in came_free if not hold_of[seat]],
        [seat for hold in decided.sold_by_fact for seat in hold.seats if hold_of[seat] > 0],
        [(area, memory.areas_free[area]) for area in sorted(areas)],
        decided.state,
        [seat for seat in turned if hold_of[seat] == BLOCKED],
        sorted({(area, hold.expires_at) for hold in given for area, _ in hold.areas}),
        bool(decided.plans),
    )
    return seats_channel(event), encode_delta(delta)


def offers(event: str, decided: Decided) -> list[Message]:
    """One message per offer, for its buyer's sockets at whichever gateway. The batch is true."""
    messages = []
    for offer in decided.offered:
        _, _, buyer, request_id, _, _, result = decided.rows[offer.row]
        frame = offer_frame(request_id, offer.wait_id, result)
        messages.append((holds_channel(event), encode_news(HoldNews("", buyer, frame))))
    return messages


def given_back(event: str, memory: Memory, decided: Decided) -> list[Message]:
    """One message per hold that got time back after an outage, for its buyer's sockets. The batch is true."""
    new = {claim.hold_id for claim in decided.claims}
    messages = []
    for hold_id, hold in memory.holds.items() if decided.outages else ():
        lost_us = sum([out.lost_us for out in decided.outages if hold.expires_at > out.since + out.lost_us])
        if lost_us and hold_id not in new:
            frame = time_back_frame(hold_id, hold.expires_at, lost_us)
            messages.append((holds_channel(event), encode_news(HoldNews("", hold.buyer, frame))))
    return messages


def reload_seats(event: str) -> Message:
    """Tells gateways to read the map from Postgres: a `Delta` of batch 0."""
    return seats_channel(event), encode_delta(Delta(0, 0, [], [], [], []))


def stream_lost(event: str) -> Message:
    """Tells gateways to append again what they wait for: the stream was created anew."""
    return seats_channel(event), encode_delta(Delta(0, 0, [], [], [], [], STREAM_LOST))
