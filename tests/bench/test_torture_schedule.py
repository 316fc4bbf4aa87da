"""What is broken when: the same for a seed, everything in time, nothing twice at once, nothing for good."""

from __future__ import annotations

from itertools import islice

import pytest

from bench.torture.schedule import DECK, LEASE_SECONDS, Group, Kind, Slot, short, slots, slots_for


def some(seed: int, count: int = 200) -> list[Slot]:
    return list(islice(slots(seed), count))


def test_a_seed_gives_the_same_faults_and_another_seed_others():
    assert some(7) == some(7)
    assert some(7) != some(8)


@pytest.mark.parametrize("seed", range(20))
def test_every_kind_comes_before_a_few_minutes_are_over(seed):
    faults = [fault for slot in some(seed, 60) for fault in slot.faults]
    assert {fault.kind for fault in faults} == set(Kind)


@pytest.mark.parametrize("seed", range(20))
def test_everything_is_healed_within_what_its_kind_allows(seed):
    for slot in some(seed):
        assert slot.quiet_seconds > 0
        for fault in slot.faults:
            shortest, longest = DECK[fault.kind].seconds
            assert shortest <= fault.seconds <= longest < 10
            assert fault.target in DECK[fault.kind].targets
            assert slot.seconds >= slot.quiet_seconds + fault.seconds


@pytest.mark.parametrize("seed", range(20))
def test_two_at_the_same_time_never_break_the_same_thing(seed):
    pairs = [slot.faults for slot in some(seed) if len(slot.faults) > 1]
    assert len(pairs) > 10, "some things break at the same time"
    for one, other in pairs:
        assert one.victim != other.victim


def test_a_run_of_ten_minutes_with_its_judging_breaks_two_hundred_things():
    rounds = 600 / 40
    endless = slots(1)
    faults = [fault for _ in range(int(rounds)) for slot in slots_for(24, endless) for fault in slot.faults]
    assert len(faults) >= 200


def test_slots_for_a_time_go_on_where_the_last_ones_ended():
    endless = slots(3)
    first, second = list(slots_for(10, endless)), list(slots_for(10, endless))
    assert first + second == some(3, len(first) + len(second))


def test_an_owner_is_stopped_for_less_and_for_more_than_its_lease():
    from allocator import lease

    assert lease.LEASE_SECONDS == LEASE_SECONDS
    assert DECK[Kind.FREEZE_OWNER].seconds[1] < LEASE_SECONDS < DECK[Kind.FREEZE_OWNER_LONG].seconds[0]


def test_the_short_one_has_a_fault_of_every_group():
    assert {fault.group for slot in short() for fault in slot.faults} == set(Group)
    assert sum(slot.seconds for slot in short()) < 10
