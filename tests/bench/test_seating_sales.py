"""The same parties for everybody; and each way of seating them in small, with the real engines."""

from __future__ import annotations

from collections import Counter
from contextlib import nullcontext

import pytest

from bench.backlog import alone
from bench.effort import Effort
from bench.labels import label
from bench.report import Report, at_least
from bench.seating import greedy, run, skip_locked, speed
from bench.seating.by_onsale import entries_of
from bench.seating.house import House, bits
from bench.seating.judge import judge
from bench.seating.parties import SIZES, draw, is_open, named_before, open_seats
from bench.seating.results import GREEDY, NAMES, ONSALE, SKIP_LOCKED
from bench.seating.run import quality_rows, sell_and_judge
from bench.seating.speed import thousands
from bench.seating.state import seat_state, sold_out
from store.errors import OnsaleError
from store.venues.make import make
from store.wire import decode_entry, decode_want
from store.words import Best, Want

THEATRE = make("theatre", 240)


def test_the_same_seed_gives_the_same_parties_and_another_one_others():
    assert draw(THEATRE, parties=50) == draw(THEATRE, parties=50)
    assert draw(THEATRE, parties=50) != draw(THEATRE, parties=50, seed=2)
    assert draw(THEATRE, parties=80)[:50] == draw(THEATRE, parties=50)


def test_parties_ask_for_sections_categories_prices_fallbacks_pairs_and_some_may_be_parted():
    wants = draw(make("arena", 1_000), parties=3_000)
    firsts = [want.parties[0] for want in wants]
    sizes = Counter(best.quantity for best in firsts)
    assert set(sizes) <= set(SIZES)
    assert sizes[2] > sizes[4] > sizes[3] > sizes[5]
    assert any(best.section for best in firsts)
    assert any(best.category for best in firsts)
    assert any(best.price_max is not None for best in firsts)
    choices = [choice for want in wants for choice in want.choices]
    assert any(len(choice.parties) == 3 for choice in choices), "two and two and two"
    assert any(best.apart for choice in choices for best in choice.parties)
    assert {len(want.choices) for want in wants} == {1, 2, 3, 4}
    for want in wants:
        people = {sum(best.quantity for best in choice.parties) for choice in want.choices}
        assert len(people) == 1, "nobody leaves somebody at home"


def test_those_who_name_seats_name_a_share_of_the_open_ones_and_none_twice():
    named = [guid for want in named_before(THEATRE, 0.25) for guid in want.seats]
    assert len(named) == len(set(named))
    assert 0.25 * open_seats(THEATRE) <= len(named) <= 0.25 * open_seats(THEATRE) + 1
    kept = {seat.guid for seat in THEATRE.seats if not is_open(seat)}
    assert kept.isdisjoint(named)
    assert {len(want.seats) for want in named_before(THEATRE, 0.25)} == {1, 2}
    assert named_before(THEATRE, 0.0) == []


def test_so_many_parties_come_as_want_the_house_so_often():
    wants = draw(THEATRE, demand=1.5)
    people = sum(best.quantity for want in wants for best in want.parties)
    assert 1.5 * open_seats(THEATRE) <= people < 1.5 * open_seats(THEATRE) + 6
    assert open_seats(THEATRE) < len(THEATRE.seats), "accessible places are not among them"


def test_the_stream_carries_each_party_in_order_as_a_buyer_of_its_own():
    wants = draw(THEATRE, parties=30)
    entries = [decode_entry(entry) for entry in entries_of(wants)]
    assert [decode_want(bytes(entry.want)) for entry in entries] == wants
    assert len({entry.buyer for entry in entries}) == 30


def test_the_greedy_picker_gives_the_first_free_seats_all_or_nothing():
    house = House(THEATRE)
    order = greedy.seats_in_order(house, Best(1))
    assert len(order) == open_seats(THEATRE)
    assert all(is_open(THEATRE.seats[seat]) for seat in order)
    assert [house.rank_of[seat] for seat in order] == sorted(house.rank_of[seat] for seat in order)
    three, two = greedy.sell(house, [Want(best=Best(3)), Want(best=Best(2))])
    assert three is not None
    assert two is not None
    assert [*three.seats[0], *two.seats[0]] == order[:5]
    section = THEATRE.sections[0].name
    of_it = greedy.seats_in_order(house, Best(1, section=section))
    last = [Want(best=Best(50, section=section))] * (len(of_it) // 50 + 1)
    sold = greedy.sell(house, [*last, Want(best=Best(len(of_it) % 50, section=section))])
    assert sold[-2] is None, "not as many are left"
    assert sold[-1] is not None, "and those who were too many took none"


def test_descriptions_are_blocks_of_that_section_category_and_price():
    house = House(THEATRE)
    every = house.described(Best(1))
    assert list(bits(every)) == list(range(len(THEATRE.blocks)))
    for category in THEATRE.categories:
        named = house.described(Best(1, category=category.name))
        assert {house.blocks[rank].category for rank in bits(named)} == {THEATRE.categories.index(category)}
        dear = house.described(Best(1, price_min=category.price_minor))
        assert dear & house.described(Best(1, price_max=category.price_minor)) == named
        assert dear | house.described(Best(1, price_max=category.price_minor)) == every


def test_every_way_of_seating_sells_the_house_and_only_onsale_splits_nobody_needlessly(alone_stack):
    measured = Report({})
    wants = [*named_before(THEATRE, 0.25), *draw(THEATRE, demand=1.6)]
    sales = sell_and_judge(measured, alone_stack, "Small", THEATRE, wants, lambda _: None)
    by_name = {sale.strategy: sale.verdict for sale in sales}
    assert list(by_name) == [ONSALE, SKIP_LOCKED, GREEDY] == list(NAMES)
    assert all(verdict.wrong == 0 and verdict.unsold == 0 for verdict in by_name.values())
    assert all(verdict.sold == open_seats(THEATRE) for verdict in by_name.values())
    own = by_name[ONSALE]
    assert (own.overtaken, own.split_needlessly, own.split_unasked) == (0, 0, 0), own.stories
    assert by_name[GREEDY].split_needlessly > 0
    assert by_name[SKIP_LOCKED].split_needlessly > 0
    assert by_name[GREEDY].overtaken == 0, "a serial picker overtakes nobody"
    assert measured.lawful
    assert [row.reached for row in quality_rows(sales, lawful=True)] == [True, True]
    assert [row.reached for row in quality_rows(sales, lawful=False)] == [False, False]


def test_a_whole_run_sells_every_house_three_ways_and_has_the_rows_that_are_promised(
    alone_stack, monkeypatch
):
    monkeypatch.setattr(run, "allocator_stack", lambda: nullcontext(alone_stack))
    houses = [("Empty", THEATRE, 0.0), ("Full of holes", THEATRE, 0.3)]
    monkeypatch.setattr(run, "houses", lambda effort: houses)
    monkeypatch.setattr(
        run, "measure_speed", lambda *_: [at_least("seating_decisions", [2], "decisions/s", 1)]
    )
    report = run.run_seating(lambda _: None, Effort(quick=True))
    assert [(sale.house, sale.strategy) for sale in report.sales] == [
        (house, strategy) for house, _, _ in houses for strategy in NAMES
    ]
    assert [row.name for row in report.measured.rows] == [
        "seating_overtaken", "seating_split_needlessly", "seating_decisions",
    ]  # fmt: skip
    assert report.passed
    assert len(report.measured.judged) == 2
    assert report.sales[3].verdict.parties > report.sales[0].verdict.parties, "who named seats came first"


def test_one_writer_alone_does_what_the_greedy_picker_does(alone_stack):
    house = House(THEATRE)
    wants = [*named_before(THEATRE, 0.25), *draw(THEATRE, demand=1.2), *named_before(THEATRE, 0.1)]
    with skip_locked.database_beside(alone_stack) as url:
        alone_in_line = skip_locked.sell(url, house, wants, writers=1)
    assert alone_in_line == greedy.sell(house, wants)


def test_rows_are_missed_when_anybody_was_overtaken_split_or_wrongly_seated(alone_stack):
    house, wants = House(THEATRE), draw(THEATRE, demand=1.2)
    verdict = judge(house, wants, greedy.sell(house, wants))
    measured = Report({})
    (own, *others) = sell_and_judge(measured, alone_stack, "Small", THEATRE, wants[:5], lambda _: None)
    own.verdict = verdict
    overtaken, split = quality_rows([own, *others], lawful=True)
    assert (overtaken.reached, split.reached) == (True, False)
    verdict.split_needlessly, verdict.wrong = 0, 1
    assert not any(row.reached for row in quality_rows([own, *others], lawful=True))


def test_the_speed_rows_in_small(alone_stack, monkeypatch):
    monkeypatch.setattr(Effort, "size", lambda effort, whole, quick: whole // 12)
    monkeypatch.setattr(speed, "THOUSAND", 500)
    report = Report({})
    said: list[str] = []
    rows = speed.measure_speed(report, alone_stack, said.append, Effort(quick=True))
    assert [row.name for row in rows] == ["seating_decisions", "seating_last_thousand", "seat_state"]
    assert all(label(row.name) != row.name.replace("_", " ") for row in rows), "each has a name for people"
    assert all(row.value > 0 for row in rows)
    assert said
    assert report.lawful
    assert report.judged[0].decisions == 5_000
    assert len(report.details["us_per_thousand"]) >= 5


def test_a_backlog_that_is_fed_comes_in_bursts_and_is_decided_whole(alone_stack):
    with alone(alone_stack, THEATRE) as one:
        batches = one.feed(entries_of(draw(THEATRE, parties=450)), 100)
    assert sum(count for _, count in batches) == 450
    assert len(batches) >= 3
    assert [at for at, _ in batches] == sorted(at for at, _ in batches)


def test_a_thousand_takes_its_share_of_the_batches_it_is_in():
    batches = [(0, 500), (50, 1_000), (150, 1_000), (450, 300), (999, 7)]
    # 500 take 50, then 0.1 each, then 0.3 each; the last batch's end is not known
    assert thousands(batches) == [pytest.approx(100), pytest.approx(50 + 150)]
    with pytest.raises(OnsaleError):
        thousands(batches[:3])


def test_the_state_of_seats_counts_memory_apart_from_holds_and_not_the_plan():
    empty = seat_state(sold_out(THEATRE, []))
    memory = sold_out(THEATRE, draw(THEATRE, demand=1.6))
    full = seat_state(memory)
    assert empty.holds == empty.bytes_per_hold == 0
    assert full.holds == len(memory.holds) > 50
    assert 100 < empty.bytes_per_seat < 300
    assert full.bytes_per_seat == pytest.approx(empty.bytes_per_seat, rel=0.2), "holds are told apart"
    assert full.bytes_per_hold > 200
    before = full.bytes_per_seat * full.seats
    memory.hold_of.extend([10**20] * 240)
    assert seat_state(memory).bytes_per_seat * len(memory.hold_of) > before + 8 * 240 - 50
