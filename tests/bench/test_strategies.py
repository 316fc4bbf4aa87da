"""The pure parts of the strategies' benchmark: what is sent, what is understood, who is judged how."""

from __future__ import annotations

import io
import json

import pytest
from rich.console import Console

from bench.strategies import rig as rigs
from bench.strategies.catalogue import NAMES, STRATEGIES
from bench.strategies.drift import Drift
from bench.strategies.judge import MARGIN_MS, Asked, judge
from bench.strategies.loads import loads, takes_part, wants_of
from bench.strategies.rows import Figures, Row, all_ratios, ratios, row_of, where_not_best
from bench.strategies.run import StrategiesReport, check
from bench.strategies.show import strategies_report
from bench.strategies.wire import OnsaleWire, Response, Wire, heard, parse_response
from gateway.buyers.decode import frame_from_json, request_from_json
from store.errors import BadRequest
from store.venues.make import make

MS = 1_000_000
LATER = int(MARGIN_MS) + 1
WHOLE = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"
ONE_BLOCK = [0] * 10


def asked(name: str, seat: int, at_ms: int, outcome: str) -> Asked:
    seats = (seat,) if outcome == "held" else ()
    return Asked(name, (seat,), at_ms * MS, at_ms * MS + 1, outcome, seats)


def party(name: str, at_ms: int, *seats: int) -> Asked:
    return Asked(name, (), at_ms * MS, at_ms * MS + 1, "held" if seats else "sold_out", seats)


# the generator's HTTP


def test_a_response_is_taken_when_it_is_whole():
    for end in range(len(WHOLE)):
        assert parse_response(WHOLE[:end]) is None
    assert parse_response(WHOLE) == Response(200, b"{}", b"")


def test_what_follows_a_response_is_kept():
    assert parse_response(WHOLE + b"HTTP/1.1 5") == Response(200, b"{}", b"HTTP/1.1 5")


def test_header_names_may_be_written_in_any_case():
    assert parse_response(WHOLE.replace(b"Content-Length", b"content-length")) == Response(200, b"{}", b"")


def test_a_response_without_content_ends_with_its_head():
    assert parse_response(b"HTTP/1.1 204 No Content\r\nserver: x\r\n\r\n") == Response(204, b"", b"")


@pytest.mark.parametrize(
    "data", [b"SSH-2.0\r\n\r\n", b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"]
)
def test_what_the_generator_cannot_read_is_an_error(data):
    with pytest.raises(ValueError):
        parse_response(data)


def test_a_post_says_its_own_length():
    frame = Wire("http", "7", ['"seats":[3]', '"quantity":2']).frame("", 1)
    head, _, body = frame.partition(b"\r\n\r\n")
    assert json.loads(body) == {"event": 7, "request": "r1", "quantity": 2}
    assert f"Content-Length: {len(body)}".encode() in head
    assert json.loads(Wire("ws", "7", ['"seats":[3]']).frame("", 4)) == {
        "event": 7,
        "request": "r4",
        "seats": [3],
    }


def test_onsale_understands_what_it_is_sent():
    plan = make("theatre", 12)
    for load in loads(quick=False):
        wants = wants_of(load, plan, names=True)
        frame = frame_from_json(OnsaleWire("ws", "gig", wants).frame("token", 1).decode())
        assert frame.id == "r1"  # type: ignore[union-attr]
        head, _, body = OnsaleWire("http", "gig", wants).frame("token", 1).partition(b"\r\n\r\n")
        want = request_from_json(body)
        assert want.seats or want.best
        for line in (
            b"Authorization: Bearer token",
            b"Idempotency-Key: r1",
            f"Content-Length: {len(body)}".encode(),
        ):
            assert line in head.split(b"\r\n")


def test_accepted_is_passed_over_and_202_is_followed():
    socket, http = OnsaleWire("ws", "gig", ["x"]), OnsaleWire("http", "gig", ["x"])
    assert not socket.decided(200, b'{"type":"accepted","id":"r1","arrival":"1-1"}')
    assert socket.decided(200, b'{"type":"decision","id":"r1"}')
    assert http.decided(200, b"")
    assert http.decided(409, b"")
    assert not http.decided(202, b"")
    following = http.follow("token", 5, 202)
    assert following is not None
    assert following.startswith(b"GET /v1/events/gig/requests/r5?wait_ms=")


def test_answers_of_both_sides_are_understood():
    assert heard(b'{"outcome":"held","seats":[4],"retries":2,"deadlocks":1}') == ("held", [4], 2, 1)
    assert heard(b'{"type":"decision","id":"r","outcome":"held","result":{"seats":["A-1"]}}')[:2] == (
        "held",
        ["A-1"],
    )
    assert heard(b'{"type":"decision","outcome":"taken","result":{"taken":["A-1"]}}')[:2] == ("taken", [])
    assert heard(b'{"type":"not_queued","id":"r","taken":["A-1"]}').outcome == "not_queued"
    assert heard(b'{"type":"about:blank","status":409,"code":"not_queued"}').outcome == "not_queued"


@pytest.mark.parametrize("body", [b"", b"Internal Server Error", b'{"outcome":"busy"}', b'{"type":"error"}'])
def test_what_is_no_decision_counts_as_an_error(body):
    assert heard(body).outcome == "error"


# the judge


def test_a_clean_sale_has_no_findings():
    told = [asked("a", 0, 0, "held"), asked("b", 0, 200, "taken"), asked("c", 1, 0, "held")]
    verdict = judge(told, [(0, "a"), (1, "c")], ONE_BLOCK)
    assert verdict == type(verdict)()


def test_two_winners_of_a_seat_are_seen_from_either_side():
    both = [asked("a", 0, 0, "held"), asked("b", 0, 0, "held")]
    assert judge(both, [(0, "a"), (0, "b")], ONE_BLOCK).oversold == 1
    assert judge(both, [(0, "b")], ONE_BLOCK).oversold == 1
    assert judge(both[:1], [(0, "a"), (0, "b"), (0, "c")], ONE_BLOCK).oversold == 2
    assert "seat 0 was given to 2 (a, b)" in judge(both, [], ONE_BLOCK).stories[0]


def test_what_was_promised_and_not_written_is_lost():
    assert judge([asked("a", 0, 0, "held")], [], ONE_BLOCK).lost == 1
    assert judge([asked("a", 0, 0, "held")], [(0, "b")], ONE_BLOCK).lost == 1


def test_a_wanted_seat_nobody_got_has_no_winner():
    assert judge([asked("a", 3, 0, "taken"), asked("b", 3, 0, "taken")], [], ONE_BLOCK).no_winner == 1
    never = Asked("a", (3,), 0, 0, "")
    assert judge([never], [], ONE_BLOCK).no_winner == 0


def test_seats_left_over_while_parties_were_refused_have_no_winner():
    told = [party("a", 0, 0, 1), party("b", 0)]
    assert judge(told, [(0, "a"), (1, "a")], [0] * 6).no_winner == 2
    assert judge(told[:1], [(0, "a"), (1, "a")], [0] * 6).no_winner == 0


def test_only_clearly_earlier_requests_are_overtaken():
    assert (
        judge([asked("a", 0, 0, "taken"), asked("b", 0, LATER, "held")], [(0, "b")], ONE_BLOCK).overtaken == 1
    )
    assert judge([asked("a", 0, 0, "taken"), asked("b", 0, 10, "held")], [(0, "b")], ONE_BLOCK).overtaken == 0


def test_a_party_with_worse_seats_than_a_later_one_is_overtaken():
    told = [party("a", 0, 4, 5), party("b", LATER, 0, 1), party("c", LATER * 3, 6, 7)]
    assert judge(told, [], ONE_BLOCK).overtaken == 1
    assert judge([party("a", 0), party("b", LATER, 0, 1)], [], ONE_BLOCK).overtaken == 1


def test_a_party_is_split_by_a_gap_or_an_aisle():
    blocks = [0, 0, 0, 1, 1]
    assert judge([party("a", 0, 0, 1)], [], blocks).split == 0
    assert judge([party("a", 0, 0, 2)], [], blocks).split == 1
    assert judge([party("a", 0, 2, 3)], [], blocks).split == 1


# rows and ratios


def row(strategy: str, transport: str, rate: float, load: str = "10000x1", **faults: int) -> Row:
    made = row_of(
        strategy, transport, load, 1, [Figures(decisions_per_second=rate, p50_ms=1000 / rate)], None
    )
    for name, value in faults.items():
        setattr(made, name, value)
    return made


ROWS = [
    row("onsale", "ws", 9_000),
    row("onsale_gate", "http", 12_000),
    row("onsale", "http", 6_000),
    row("floor", "http", 50_000),
    row("naive", "http", 4_000, oversold=9),
    row("set_nx", "http", 3_000, drift=4),
    row("conditional_update", "http", 2_000),
    row("conditional_update", "ws", 4_500),
    row("decr_async", "ws", 6_000),
]


def test_onsale_is_compared_with_those_who_commit_before_they_answer():
    stated = all_ratios(ROWS)
    assert stated["load"] == "10000x1"
    assert [stated[name] for name in ("ws_vs_best_http", "ws_vs_best_ws", "http_vs_best_http")] == [3, 2, 2]
    assert stated["against"]["keeping"].best_http == "set_nx"
    assert stated["against"]["keeping_and_faultless"].ws_vs_best_http == 4.5
    assert stated["against"]["keeping_without_gate"].best_http == "conditional_update"
    assert stated["gate_against_gate"].http_vs_best_http == 4
    assert stated["against"]["all"].http_vs_best_http == 1.5
    assert stated["against"]["all"].ws_vs_best_ws == 1.5


def test_a_ratio_without_its_other_half_is_none():
    assert ratios([row("onsale", "ws", 10)]).ws_vs_best_ws is None
    assert ratios([row("set_nx", "ws", 10)]).ws_vs_best_ws is None


def test_medians_for_speed_and_sums_for_faults():
    rounds = [Figures(decisions_per_second=rate, oversold=1, cut_off=rate == 3) for rate in (3, 1, 2)]
    made = row_of("naive", "http", "20x1", 1, rounds, None)
    assert (made.decisions_per_second, made.oversold, made.cut_off) == (2, 3, True)


def test_it_says_where_onsale_loses():
    rows = [row("onsale", "http", 100), row("conditional_update", "http", 400), row("naive", "http", 900)]
    (sentence,) = where_not_best(rows)
    assert sentence.startswith("10000x1 over http: 100 decisions/s (conditional_update 400), p50 10 ms")
    assert where_not_best(ROWS[:2] + ROWS[4:]) == []


def test_every_strategy_takes_part_somewhere_and_only_finders_look_for_pairs():
    pairs = next(load for load in loads(quick=False) if load.together)
    assert all(any(takes_part(name, load, "http") for load in loads(quick=True)) for name in NAMES)
    assert not takes_part("set_nx", pairs, "http")
    assert takes_part("skip_locked", pairs, "http")
    assert not takes_part("process_lock", loads(quick=False)[0], "ws")


def test_unknown_names_are_refused_with_what_there_is():
    assert [load.name for load in check([], ["pairs"], False)[1]] == ["pairs"]
    with pytest.raises(BadRequest, match="There are: naive"):
        check(["mutex"], [], False)
    with pytest.raises(BadRequest, match="There are: 20x1"):
        check([], ["7x7"], False)


def test_a_person_sees_speed_faults_kills_and_where_onsale_loses():
    report = StrategiesReport({}, False, 3, rows=ROWS, ratios=all_ratios(ROWS))
    report.drifts = [Drift("decr_async", 90, 17, 40, 23, 0)]
    report.not_best = ["20x1 over http: p50 9 ms; set_nx has 4"]
    console = Console(width=80, file=io.StringIO(), record=True)
    console.print(strategies_report(report))
    text = console.export_text()
    for part in ("conditional_update", "oversold 9", "17", "23", "Where onsale is not the best", "4.5"):
        assert part in text


def test_every_module_names_its_source():
    import importlib

    for name in STRATEGIES:
        assert "https://" in (importlib.import_module(STRATEGIES[name].__module__).__doc__ or "")


def test_who_is_still_at_work_for_clients_that_gave_up_ends_the_comparison(monkeypatch):
    """The next would be measured beside it."""
    monkeypatch.setattr(rigs, "SETTLED_SECONDS_MAX", 0.0)
    monkeypatch.setattr("bench.strategies.tables.at_work", lambda connection: True)
    rig = rigs.Rig.__new__(rigs.Rig)
    rig.connection = rig.client = None  # type: ignore[assignment]
    rig.settle("naive")
    with pytest.raises(rigs.ServerNotReady, match="naive has not come to rest"):
        rig.settle("naive", given_up=True)
