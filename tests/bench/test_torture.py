"""A short torture of the real thing, and a judge that notices what is planted."""

from __future__ import annotations

import io
import random
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import psycopg
import pytest
from rich.console import Console

from bench.evidence import HoldOp, LedgerRow, read_frame, read_json
from bench.target import Target
from bench.torture import office, schedule, shown
from bench.torture.faults import Broken
from bench.torture.fleet import FleetSaw
from bench.torture.judging import (
    USES,
    RoundResult,
    judge_round,
    moves_misanswered,
    strange_errors,
    used_in,
)
from bench.torture.mover import Move
from bench.torture.rounds import Fleet, Played, play
from bench.torture.run import kept_logs, summed_up
from bench.torture.show import torture_panel
from bench.torture.stage import Stage, alerts, stage
from tests import cluster

pytestmark = pytest.mark.faults

SMALL = Fleet(buyers=16, twins=6, http_alone=1, http_twins=1)


@pytest.fixture(scope="module")
def on() -> Iterator[Stage]:
    with pytest.MonkeyPatch.context() as patching:
        patching.setattr("bench.torture.stage.engines", cluster.engines_made)
        with stage(allocators=2) as made:
            yield made


@pytest.fixture(scope="module")
def played(on: Stage) -> Played:
    """Of few seats, so that somebody waits and is offered what comes back."""
    return play(on, 2, schedule.short(), seed=0, fleet=SMALL)


def kinds(on: Stage, played: Played) -> set[str]:
    return {finding.kind for finding in judge_round(on.database_url, played).findings}


def copy_of(played: Played) -> Played:
    seen = msgspec.msgpack.decode(msgspec.msgpack.encode(played.saw), type=FleetSaw)
    return msgspec.structs.replace(played, saw=seen)


def behind_its_back(on: Stage, event_id: int, *statements: str) -> None:
    with psycopg.connect(on.database_url) as conn:
        conn.execute("SET session_replication_role = replica")
        for statement in statements:
            conn.execute(statement.encode(), {"event": event_id})


def test_whatever_breaks_every_law_is_kept(on, played):
    result = judge_round(on.database_url, played)
    assert result.findings == []
    assert result.faults_by_kind.total() == len(schedule.ONE_OF_EACH)
    assert result.decisions > 0
    assert result.epochs > 1, "an owner was killed"
    assert result.outcomes["held"] > 0
    by_buyers, by_rules = (
        ("offers", "waitlisted", "extensions"),
        ("tour_refused", "sold_by_hand", "taken_back"),
    )
    for use in (*by_buyers, *by_rules, "recategorised"):
        assert result.used[use] > 0, result.used
    assert any(one.offers for one in played.saw.seen), "an offer was told"


def test_a_ledger_row_that_is_gone_is_noticed(on, played):
    keep = "CREATE TABLE kept AS SELECT * FROM ledger WHERE event_id = %(event)s"
    last = "(SELECT max(batch_no) FROM ledger WHERE event_id = %(event)s AND kind = 'request')"
    lose = f"DELETE FROM ledger WHERE event_id = %(event)s AND batch_no = {last}"
    behind_its_back(on, played.event.id, keep, lose)
    try:
        assert {"inconsistent", "replay"} < kinds(on, played)
    finally:
        give_back = "INSERT INTO ledger SELECT * FROM kept ON CONFLICT DO NOTHING"
        behind_its_back(on, played.event.id, give_back, "DROP TABLE kept")
    assert kinds(on, played) == set()


def test_more_than_a_tour_allows_is_noticed(on, played):
    assert played.other is not None, "the small round is on tour"
    behind_its_back(on, played.event.id, "UPDATE tour SET seats_per_buyer_max = 1")
    try:
        findings = [one for one in judge_round(on.database_url, played).findings if one.kind == "over_limit"]
        moment = [one for one in findings if "on the dates of the tour at" in one.story]
        assert any("-again" in one.story for one in moment), "what they had on either date is told"
    finally:
        behind_its_back(on, played.event.id, "UPDATE tour SET seats_per_buyer_max = 3")
    assert kinds(on, played) == set()


def test_what_a_buyer_saw_of_the_other_date_is_judged_too(on, played):
    assert played.other is not None, "the small round is on tour"
    saw = msgspec.msgpack.decode(msgspec.msgpack.encode(played.other.saw), type=FleetSaw)
    forge_another_answer(saw)
    forge_silence(saw)
    other = msgspec.structs.replace(played.other, saw=saw)
    assert kinds(on, msgspec.structs.replace(played, other=other)) >= {"doubled", "unanswered"}


def forge_another_answer(saw: FleetSaw) -> None:
    ask = next(ask for one in saw.seen for ask in one.asks if ask.decisions)
    when, frame = ask.decisions[0]
    ask.decisions.append((when, frame.replace(read_frame(frame).outcome.encode(), b"sold_out_too")))


def forge_an_acceptance_nobody_decided(saw: FleetSaw) -> None:
    one = next(one for one in saw.seen if one.asks)
    one.asks[0].request_id = "never-decided"
    one.asks[0].accepted = [(1, "1-0")]
    one.asks[0].decisions = []


def forge_a_denied_hold(saw: FleetSaw) -> None:
    op = next(op for one in saw.seen for op in one.hold_ops if op.state == "released")
    op.state, op.error = "", "hold_not_found"


def forge_nobody_being_told(saw: FleetSaw) -> None:
    decided = [(one.buyer, ask.request_id) for one in saw.seen for ask in one.asks if ask.decisions]
    for one in saw.seen:
        for ask in one.asks:
            if (one.buyer, ask.request_id) == decided[0]:
                ask.decisions, ask.not_queued = [], []


def forge_silence(saw: FleetSaw) -> None:
    saw.unanswered.append("somebody's request r1")


def forge_a_longer_extension(saw: FleetSaw) -> None:
    op = next(op for one in saw.seen for op in one.hold_ops if op.op == "extend" and op.answer)
    assert op.answer is not None, "only those are looked at"
    op.answer.expires_at += 60_000


def forge_another_offer(saw: FleetSaw) -> None:
    one = next(one for one in saw.seen if one.offers)
    offer = read_json(one.offers[0])
    offer["result"]["seats"] = ["no-such-seat"]
    one.offers[0] = msgspec.json.encode(offer)


def forge_a_better_place(saw: FleetSaw) -> None:
    one = next(one for one in saw.seen if any(b'"position"' in frame for frame in one.waiting))
    at = next(number for number, frame in enumerate(one.waiting) if b'"position"' in frame)
    told = read_json(one.waiting[at])
    for entry in told["waiting"]:
        entry["position"] = 0
    one.waiting[at] = msgspec.json.encode(told | {"waiting": [e for e in told["waiting"] if "wait" in e]})


def forge_an_offer_that_nobody_was_told_of(saw: FleetSaw) -> None:
    """Of somebody who knew to wait with it when it looked at the list for the last time."""
    found = next(
        one.buyer
        for one in saw.seen
        if any(read_frame(frame).outcome == "waitlisted" for ask in one.asks for _, frame in ask.decisions)
        and any(b'"state":"offered"' in frame for frame in one.waiting[-1:])
    )
    for one in saw.seen:
        if one.buyer == found:
            one.offers, one.waiting = [], [b'{"type":"waiting","of":0,"waiting":[]}']


def forge_a_denied_offer(saw: FleetSaw) -> None:
    one = next(one for one in saw.seen if one.offers)
    hold = str(read_json(one.offers[0])["result"]["hold"])
    one.hold_ops.append(HoldOp("confirm", hold, 1, 2, error="hold_not_found"))


@pytest.mark.parametrize(
    ("forge", "kind"),
    [
        (forge_another_answer, "doubled"),
        (forge_another_answer, "unexplained"),
        (forge_an_acceptance_nobody_decided, "lost"),
        (forge_nobody_being_told, "lost"),
        (forge_a_denied_hold, "unexplained"),
        (forge_silence, "unanswered"),
        (forge_a_longer_extension, "unexplained"),
        (forge_another_offer, "unexplained"),
        (forge_a_better_place, "unexplained"),
        (forge_an_offer_that_nobody_was_told_of, "lost"),
        (forge_a_denied_offer, "unexplained"),
    ],
)
def test_what_a_buyer_saw_and_nothing_accounts_for_is_noticed(
    on, played, forge: Callable[[FleetSaw], None], kind
):
    forged = copy_of(played)
    forge(forged.saw)
    assert kind in kinds(on, forged)


def test_a_move_to_another_category_that_was_told_and_not_made_is_noticed(on, played):
    made = max((move for move in played.moves if move.status == 200), key=lambda move: move.version)
    unmade = msgspec.structs.replace(made, asked=None, version=made.version + 1)
    other = msgspec.structs.replace(made, category="B" if made.category == "A" else "A")
    for forged, kind in ((unmade, "lost"), (other, "unexplained")):
        assert kinds(on, msgspec.structs.replace(played, moves=[*played.moves, forged])) == {kind}


A_MOVE = Move("A", ("101-1-1",), (), known=3, asked=None, unsure=False, status=200, code="", version=4)
REFUSED = msgspec.structs.replace(A_MOVE, status=409, version=0)


def moved(move: Move, **changes: object) -> Move:
    return msgspec.structs.replace(move, **changes)


@pytest.mark.parametrize(
    "move",
    [
        A_MOVE,
        moved(A_MOVE, version=3),
        moved(A_MOVE, asked=3),
        moved(A_MOVE, asked=3, version=3),
        moved(REFUSED, asked=2, code="plan_changed"),
        moved(REFUSED, asked=3, code="plan_changed", unsure=True),
        moved(REFUSED, code="category_limited"),
    ],
)
def test_a_move_is_made_or_refused_for_a_reason(move):
    assert moves_misanswered([move], limited=True) == []


@pytest.mark.parametrize(
    "move",
    [
        moved(A_MOVE, version=2),
        moved(A_MOVE, asked=2),
        moved(A_MOVE, asked=3, version=5, unsure=True),
        moved(REFUSED, code="plan_changed", unsure=True),
        moved(REFUSED, asked=3, code="plan_changed"),
        moved(REFUSED, code="category_limited"),
        moved(REFUSED, code="categories_fixed"),
        moved(REFUSED, status=500),
    ],
)
def test_a_move_that_is_made_or_refused_for_no_reason_is_noticed(move):
    assert [finding.kind for finding in moves_misanswered([move], limited=False)] == ["unexplained"]


def test_a_gateway_that_goes_on_showing_another_plan_is_noticed(on, played, monkeypatch):
    targets = [Target(url, on.database_url, on.stack.token_secret) for url in on.stack.base_urls]
    assert shown.shown_wrongly(targets, played.event) == []
    monkeypatch.setattr(shown, "PLAN", "SELECT 'another' WHERE %s::bigint > 0")
    monkeypatch.setattr(shown, "SHOWN_SECONDS_MAX", shown.POLL_SECONDS)
    found = shown.shown_wrongly(targets, played.event)
    assert [("0 seats" in one.story, "instead of another" in one.story) for one in found] == [
        (True, True)
    ] * 2


def test_no_decision_for_long_after_healing_is_noticed(on, played):
    late = msgspec.structs.replace(played, load_ended_at=played.load_ended_at + 60, broken=[])
    assert "stalled" in kinds(on, late)


def test_a_fault_that_could_not_be_done_is_no_success(on, played):
    failed = Broken("kill owner", "allocator-1", played.began_at, played.began_at, trouble="it would not die")
    assert "trouble" in kinds(on, msgspec.structs.replace(played, broken=[failed]))


def test_alerts_in_logs_and_errors_that_no_fault_explains_are_noticed():
    lines = ["1 INFO fine", "2 ERROR onsale.allocator demo: ALERT: x", "Traceback (most recent call last):"]
    log = "\n".join([*lines, "  f()", "KeyError: 1", ""])
    assert alerts(log) == [
        "2 ERROR onsale.allocator demo: ALERT: x",
        "a traceback that ends with KeyError: 1",
    ]
    assert alerts("1 INFO fine\n") == []
    assert [finding.kind for finding in strange_errors({"500 ": 1, "503 unavailable": 7})] == ["unexplained"]
    assert strange_errors({"closed: 1012 gateway restarting": 3}) == []


def test_a_person_sees_each_finding_with_the_faults_of_its_round(on, played):
    forged = copy_of(played)
    forge_silence(forged.saw)
    judged = judge_round(on.database_url, forged)
    result = summed_up(5, 0.5, [(judged, "where/the/logs/are")])
    assert not result.passed
    assert (result.other, result.faults, result.oversold) == (1, len(played.broken), 0)
    console = Console(width=140, file=io.StringIO(), record=True)
    console.print(torture_panel(result))
    seen = console.export_text()
    for told in (
        "seed 5",
        "unanswered: somebody's request r1",
        "kill owner: allocator-",
        "where/the/logs/are",
    ):
        assert told in seen
    clean = summed_up(5, 0.5, [(judge_round(on.database_url, played), "")])
    assert clean.passed
    console.print(torture_panel(clean))
    assert "every law kept" in console.export_text()


@pytest.mark.parametrize(
    ("kind", "outcome", "given", "result", "use"),
    [
        ("offer", "offered", '{"wait":"1"}', "{}", "offers"),
        ("request", "waitlisted", "{}", "{}", "waitlisted"),
        ("request", "held", "{}", '{"moved":"1"}', "moves"),
        ("request", "held", "{}", "{}", ""),
        ("request", "limit_reached", "{}", '{"reason":"limit","limit":2,"category":"A"}', "category_refused"),
        ("request", "limit_reached", "{}", '{"reason":"limit","limit":2}', ""),
        ("request", "limit_reached", "{}", '{"reason":"tour_limit","limit":3,"elsewhere":1}', "tour_refused"),
        ("fact", "sold", '{"body":{"seats":[1]}}', "{}", "sold_by_hand"),
        ("fact", "returned", '{"body":{"seats":[1]}}', "{}", "taken_back"),
        ("fact", "recategorised", '{"body":{"version":1}}', "{}", "recategorised"),
        ("fact", "left", '{"body":{"wait":"1"}}', "{}", "left"),
        ("fact", "extended", '{"body":{"by_us":1}}', "{}", "extensions"),
        ("fact", "released", '{"body":{"seats":[1]}}', "{}", "parts_released"),
        ("fact", "released", '{"body":null}', "{}", ""),
        ("expired", "expired", "{}", "{}", ""),
    ],
)
def test_what_buyers_do_besides_is_counted_by_the_ledger(kind, outcome, given, result, use):
    assert used_in(LedgerRow(1, 0, kind, "", "", "", given, outcome, result)) == use


@pytest.mark.parametrize("use", USES)
def test_a_run_in_which_something_never_took_place_says_so_and_fails(use):
    one = RoundResult(1, "small", decisions=1)
    for each in USES:
        one.used[each] = 2
    whole = summed_up(1, 2.0, [(one, "")])
    assert (whole.passed, whole.never, getattr(whole, use)) == (True, [], 2)
    del one.used[use]
    without = summed_up(1, 2.0, [(one, "")])
    assert (without.passed, without.never) == (False, [use])
    assert summed_up(1, 0.5, [(one, "")]).passed, "a short run need not have seen it"
    console = Console(width=140, file=io.StringIO(), record=True)
    console.print(torture_panel(without))
    assert f"never happened: {use}" in console.export_text()


def test_logs_of_a_second_run_stay_beside_those_of_the_first(tmp_path):
    on: Any = SimpleNamespace(logs=tmp_path / "logs")
    on.logs.mkdir()
    kept = []
    for run in ("first", "second", "third"):
        (on.logs / "gateway.log").write_text(run)
        kept.append(kept_logs(on, RoundResult(4, "small"), tmp_path / "kept"))
    assert [Path(folder).name for folder in kept] == ["round-4", "round-4-2", "round-4-3"]
    assert [Path(folder, "gateway.log").read_text() for folder in kept] == ["first", "second", "third"]


def test_a_box_office_that_does_not_end_is_trouble(monkeypatch):
    selling, go_on = threading.Event(), threading.Event()

    def sell(*where: str) -> None:
        selling.set()
        assert go_on.wait(60)

    monkeypatch.setattr(office, "PATIENCE_SECONDS", 0.01)
    monkeypatch.setattr(office, "sell", sell)
    monkeypatch.setattr(office, "take_back", lambda *_: None)
    box_office = office.BoxOffice("nowhere", "gala", random.Random(1))
    assert selling.wait(60)
    box_office.close()
    assert "still at work" in box_office.trouble
    monkeypatch.setattr(office, "PATIENCE_SECONDS", 60)
    go_on.set()
    box_office.close()
