"""What is published after a batch: the answers for each gateway, and what changed on the map."""

from __future__ import annotations

import msgspec

from allocator.announce import answers, given_back, reload_seats, seat_changes
from allocator.decided import Claim, Decided, Row
from allocator.intake import Answer, Sorted
from allocator.layout import Layout
from allocator.memory import Hold, Memory, Overlay
from store.wire import (
    Delta,
    HoldNews,
    decision_frame,
    decode_delta,
    decode_news,
    decode_published,
    time_back_frame,
)
from store.words import Blocks, EventState, HoldId, Micros, Outage, Policy
from tests.allocator.house import plan_of


def row(buyer: str, request_id: str) -> Row:
    return Row("request", "1-1", buyer, request_id, "{}", "held", '{"hold":"1"}')


def frame(request_id: str) -> bytes:
    return decision_frame(request_id, "1-1", "held", '{"hold":"1"}')


def test_each_gateway_gets_one_message_with_the_answers_of_those_who_wait_there():
    rows = [row("ann", "r1"), row("bob", "r2"), row("", "1-1")]
    batch = Sorted(gateways=["g1", "g2", ""], echoes=[("g2", 0), ("", 1)])
    batch.repeats = [Answer("g1", "eve", "r9", b"as before"), Answer("", "", "1-1", b"nobody's")]
    messages = {channel: decode_published(body) for channel, body in answers("gala", batch, rows)}
    assert messages == {
        "onsale:{gala}:decisions:g1": [("ann", "r1", frame("r1")), ("eve", "r9", b"as before")],
        "onsale:{gala}:decisions:g2": [("bob", "r2", frame("r2")), ("ann", "r1", frame("r1"))],
    }


def test_a_batch_without_answers_has_no_messages():
    assert answers("gala", Sorted(), []) == []


def test_the_map_shows_what_is_held_freed_sold_and_left_and_a_seat_freed_and_taken_again_as_held():
    memory = Memory(Layout(plan_of()), Policy(EventState.OPEN))
    overlay = Overlay(memory)
    freed, sold = Hold("ann", (1, 2), ((0, 5),), 10), Hold("bob", (7,), (), 10)
    overlay.claim(HoldId(1), freed)
    overlay.free(HoldId(1))
    overlay.claim(HoldId(2), sold)
    overlay.settle(HoldId(2))
    held = Hold("eve", (2, 3), ((0, 4),), 99)
    overlay.claim(HoldId(3), held)
    decided = Decided(
        claims=[Claim(HoldId(3), held, "r1")], expired=[(HoldId(1), freed)], sold_by_fact=[sold]
    )
    decided.state = "open"
    channel, body = seat_changes("gala", memory, 5, 77, decided)
    assert channel == "onsale:{gala}:seats"
    assert decode_delta(body) == Delta(
        5, 77, [(2, 99), (3, 99)], [1], [7], [(0, 16)], "open", places_held=[(0, 99)]
    )


def test_the_map_shows_what_is_blocked_and_unblocked_and_what_of_it_was_taken_since():
    memory = Memory(Layout(plan_of()), Policy(EventState.OPEN))
    overlay = Overlay(memory)
    before, blocks, unblocks = Blocks((1, 2, 3)), Blocks((7,), ((0, 5),)), Blocks((1, 2))
    overlay.block(before)
    overlay.block(blocks)
    overlay.unblock(unblocks)
    held = Hold("eve", (2,), (), 99)
    overlay.claim(HoldId(3), held)
    decided = Decided(claims=[Claim(HoldId(3), held, "r1")], blocks_by_fact=[before, blocks, unblocks])
    delta = decode_delta(seat_changes("gala", memory, 5, 77, decided)[1])
    assert (delta.held, set(delta.freed), set(delta.blocked)) == ([(2, 99)], {1}, {3, 7})
    assert delta.areas == [(0, 15)]


def test_the_map_shows_the_new_end_of_an_extended_hold_that_still_runs_and_what_it_gave_back():
    memory = Memory(Layout(plan_of()), Policy(EventState.OPEN))
    overlay = Overlay(memory)
    overlay.claim(HoldId(1), Hold("ann", (1, 2), ((0, 5),), 10))
    overlay.claim(HoldId(2), Hold("bob", (3,), (), 10))
    for hold_id in (1, 2):
        overlay.extend(HoldId(hold_id), 90)
    part = overlay.free_some(HoldId(1), (2,), ((0, 1),))
    gone = overlay.free(HoldId(2))
    assert part is not None
    assert gone is not None
    decided = Decided(extended=[HoldId(1), HoldId(2)], freed_by_fact=[part, gone])
    _, body = seat_changes("gala", memory, 5, 77, decided)
    assert decode_delta(body) == Delta(5, 77, [(1, 100)], [2, 3], [], [(0, 16)], places_held=[(0, 100)])


def test_a_reload_is_a_change_of_batch_0():
    assert decode_delta(reload_seats("gala")[1]) == Delta(0, 0, [], [], [], [])


def test_gateways_hear_until_when_places_are_held():
    memory = Memory(Layout(plan_of()), Policy(EventState.OPEN))
    overlay = Overlay(memory)
    claims = [
        Claim(HoldId(number), Hold("ann", (), ((0, 1),), end), "r")
        for number, end in ((1, 50), (2, 40), (3, 50))
    ]
    for claim in claims:
        overlay.claim(claim.hold_id, claim.hold)
    overlay.claim(HoldId(9), Hold("bob", (), ((0, 2),), 70))
    decided = Decided(claims=claims, extended=[HoldId(9), HoldId(8)])
    _, body = seat_changes("gala", memory, 5, 77, decided)
    assert decode_delta(body).places_held == [(0, 40), (0, 50), (0, 70)]


def test_after_an_outage_each_holder_is_told_the_new_end_and_why_and_who_was_given_something_since_is_not():
    memory = Memory(Layout(plan_of()), Policy(EventState.OPEN))
    overlay = Overlay(memory)
    new = Hold("new", (5,), (), 900_000)
    overlay.claim(HoldId(1), Hold("ann", (1,), (), 110_000))
    overlay.claim(HoldId(2), Hold("over", (2,), (), 50_000))  # ran out before the outage, and is not out yet
    overlay.give_time(100_000, 30_000)
    overlay.claim(HoldId(3), new)
    decided = Decided(claims=[Claim(HoldId(3), new, "r1")], outages=[Outage(Micros(100_000), 30_000)])
    ((channel, body),) = given_back("gala", memory, decided)
    assert channel == "onsale:{gala}:holds"
    assert decode_news(body) == HoldNews("", "ann", time_back_frame(HoldId(1), 140_000, 30_000))
    assert msgspec.json.decode(decode_news(body).frame)["given_back_ms"] == 30
    assert given_back("gala", memory, Decided()) == []
