"""What is planned, case by case: who shares, who has its own, who moves where, and what is told of it."""

from __future__ import annotations

from collections import Counter

import msgspec
import pytest

from allocator.fleet.plan import SPARE_SECONDS, plan
from store.fleet.limits import BOUNDS, FleetSettingNotValid, Limits
from store.fleet.steps import (
    Assign,
    Cool,
    Heat,
    LoseHost,
    LoseWorker,
    Note,
    Prefer,
    Short,
    Start,
    Stop,
)
from store.fleet.words import Mode
from tests.allocator.fleet.world import SECOND, World, of_kind


def world_of(hosts, events=0, *, hot=0, workers=2, limits=None):
    """Cold events from 0 on, hot ones from 100 on, settled."""
    world = World(limits or Limits())
    for name, slots in hosts.items():
        world.host(name, slots)
    for event in range(events):
        world.event(event, workers)
    for event in range(100, 100 + hot):
        world.event(event, workers, Mode.HOT, hot=True)
    world.settle()
    return world


def hosts_of(world, event):
    return sorted(world.workers[one].host for one in world.rows[event])


def owner_host(world, event):
    return world.workers[world.events[event].owner].host


def test_two_hundred_cold_events_share_one_worker_and_one_stands_by_elsewhere():
    world = world_of({"a": 4, "b": 4}, 200)
    assert len(world.workers) == 2
    assert all(hosts_of(world, event) == ["a", "b"] for event in world.events)
    assert len({it.owner for it in world.events.values()}) == 1


def test_more_than_one_worker_was_measured_with_have_several():
    world = world_of({"a": 4, "b": 4}, 250)
    owned = Counter(it.owner for it in world.events.values())
    assert (len(world.workers), sorted(owned.values())) == (4, [125, 125])


def test_on_a_single_host_who_stands_by_is_there_too():
    world = world_of({"a": 3}, 3)
    assert all(hosts_of(world, event) == ["a", "a"] for event in world.events)


def test_with_a_single_slot_one_worker_does_all_and_it_is_told_once():
    world = world_of({"a": 1}, 2, hot=2)
    assert {it.owner for it in world.events.values()} == set(world.workers)
    [short] = of_kind(world.told, Short)
    assert short.why == "6 slots are wanted and there are 1: hot events share workers"


def test_a_second_host_is_used_for_standing_by_and_the_spare_worker_ends():
    world = world_of({"a": 4}, 3)
    world.host("b", 4)
    world.told.clear()
    world.settle()
    assert all(hosts_of(world, event) == ["a", "b"] for event in world.events)
    assert not of_kind(world.told, Prefer), "nobody was taken from an owner"
    assert len(of_kind(world.told, Stop)) == 1


def test_hot_events_have_workers_of_their_own_on_two_hosts():
    world = world_of({"a": 4, "b": 4}, 2, hot=3)
    for event in (100, 101, 102):
        assert hosts_of(world, event) == ["a", "b"]
        assert all(world.load()[one] == 1 for one in world.rows[event])
    assert len(world.workers) == 8


def test_ten_hot_events_share_four_workers_evenly_and_three_when_one_dies():
    world = world_of({"a": 2, "b": 2}, hot=10)
    owned = Counter(it.owner for it in world.events.values())
    assert (len(owned), max(owned.values())) == (4, 3)
    assert set(world.load().values()) == {5}
    assert all(hosts_of(world, event) == ["a", "b"] for event in world.events)
    world.dies("b")
    world.settle()
    assert all(len(rows) == 2 for rows in world.rows.values())
    assert sorted(Counter(it.owner for it in world.events.values()).values()) == [5, 5]


def test_events_that_share_go_to_a_host_that_joins_until_all_have_as_many():
    world = world_of({"a": 2}, hot=6, workers=1)
    world.host("b", 1)
    world.settle()
    assert sorted(world.load().values()) == [2, 2, 2]


def test_a_slot_is_free_once_the_worker_that_is_to_stop_is_gone():
    world = world_of({"a": 1}, 1)
    world.ends(0)
    for _ in range(SPARE_SECONDS + 5):
        if of_kind(world.turn(), Stop):
            break
        world.second()
    world.event(1, 1)
    assert not of_kind(world.turn(), Start)
    world.settle()
    assert world.events[1].owner in world.workers


def test_wanted_workers_are_reached_and_given_up_again():
    world = world_of({"a": 4, "b": 4}, hot=1)
    world.events[100].workers = 8
    world.settle()
    assert len(world.rows[100]) == 8
    owner = world.events[100].owner
    world.events[100].workers = 1
    world.settle()
    assert set(world.rows[100]) == {owner}
    assert len(world.workers) == 1


def test_a_busy_event_becomes_hot_after_seconds_and_cold_after_quiet_ones():
    world = world_of({"a": 4}, 2)
    world.events[1].arrivals = 812.0
    world.told.clear()
    for _ in range(6):
        world.second()
    [hot] = of_kind(world.told, Heat)
    assert (hot.event, hot.why) == (1, "812 arrivals a second for 5 s, limit 300")
    world.settle()
    assert all(world.load()[one] == 1 for one in world.rows[1]), "it has its own"
    world.events[1].arrivals = 200.0
    world.settle()
    assert world.events[1].hot, "between the limits it stays as it is"
    world.events[1].arrivals = 7.0
    world.told.clear()
    for _ in range(59):
        world.second()
    assert not of_kind(world.told, Cool)
    world.settle()
    [cold] = of_kind(world.told, Cool)
    assert cold.why == ("below 100 arrivals a second and 200 undecided requests for 60 s; now 7 and 0")
    assert world.events[1].owner == world.events[0].owner


def test_undecided_requests_make_an_event_hot_too():
    world = world_of({"a": 4}, 1)
    world.events[0].undecided = 5_000
    world.settle()
    [hot] = of_kind(world.told, Heat)
    assert hot.why == "5,000 requests undecided for 5 s, limit 2,000"


def test_what_is_busy_for_a_moment_stays_cold():
    world = world_of({"a": 4}, 1)
    for _ in range(5):
        world.events[0].arrivals = 1_000.0
        for _ in range(4):
            world.second()
        world.events[0].arrivals = 0.0
        world.second()
    assert not of_kind(world.told, Heat)


def test_no_more_events_get_hot_by_their_load_than_are_allowed():
    world = world_of({"a": 8}, 3, limits=Limits(hot_events_max=1))
    for it in world.events.values():
        it.arrivals = 1_000.0
    world.settle()
    assert sum(it.hot for it in world.events.values()) == 1
    assert of_kind(world.told, Short)[-1].why == ("2 busy events stay cold: at most 1 are hot by their load")


def test_a_load_nobody_wrote_down_lately_changes_nothing():
    world = world_of({"a": 4}, 1)
    event = msgspec.structs.replace(
        world.view().events[0], load_at=world.now - 60_000, arrived_per_second=9_999.0
    )
    assert plan(msgspec.structs.replace(world.view(), events=(event,))) == []


def test_an_operator_makes_an_event_hot_or_cold_whatever_its_load():
    world = world_of({"a": 4}, 2)
    world.events[0].mode = Mode.HOT
    world.settle()
    assert all(world.load()[one] == 1 for one in world.rows[0])
    world.events[0].mode, world.events[0].arrivals = Mode.COLD, 9_999.0
    world.settle()
    assert world.load()[world.events[0].owner] == 2


def test_a_draining_host_is_left_few_events_at_a_time_and_then_empty():
    world = world_of({"a": 4, "b": 4, "c": 4}, 20)
    drained = owner_host(world, 0)
    world.hosts[drained].draining = True
    world.told.clear()
    seconds = world.settle()
    assert all(drained not in hosts_of(world, event) for event in world.events)
    assert not [one for one in world.workers.values() if one.host == drained]
    assert seconds >= 20 / world.limits.moves_per_turn_max - 1
    [why] = {step.why for step in of_kind(world.told, Prefer)}
    assert why == f"it is warm, and the event leaves {drained}, which is draining"


def test_an_owner_keeps_its_event_until_another_one_is_warm_and_owns_it():
    world = world_of({"a": 1, "b": 1}, hot=1, workers=1)
    here = owner_host(world, 100)
    world.hosts[here].draining = True
    owner = world.events[100].owner
    [start] = of_kind(world.turn(), Start)
    world.rows[100][start.worker].warm_at = world.now + 10_000
    for _ in range(9):
        world.second()
        assert set(world.rows[100]) == {owner, start.worker}
        assert world.events[100].owner == owner
    world.settle()
    assert set(world.rows[100]) == {start.worker}


def test_one_that_does_not_get_warm_is_not_waited_for():
    world = world_of({"a": 4, "b": 4}, hot=1)
    view = world.view()
    owner = world.events[100].owner
    never = next(one for one in world.rows[100] if one != owner)
    attends = tuple(
        msgspec.structs.replace(row, preferred=row.worker == never, warm=row.worker == owner)
        for row in view.attends
    )
    steps = plan(msgspec.structs.replace(view, attends=attends))
    assert [(step.worker, step.why) for step in of_kind(steps, Prefer)] == [
        (owner, "it owns it, and the other was not warm within 30 s")
    ]


def test_who_owns_is_preferred_when_the_preferred_one_is_gone():
    world = world_of({"a": 4, "b": 4}, 3)
    owner = world.events[0].owner
    world.kill(owner)
    for _ in range(5):
        world.second()
    assert of_kind(world.told, LoseWorker)
    assert all(world.rows[event][world.events[event].owner].preferred for event in world.events)
    assert len({it.owner for it in world.events.values()}) == 1


def test_nobody_is_lost_before_they_could_be_heard_of():
    world = world_of({"a": 4}, 2)
    later = msgspec.structs.replace(world.view(), now=world.now + 60_000, heard_since=world.now + 59_000)
    assert plan(later) == []
    heard = msgspec.structs.replace(later, heard_since=world.now)
    kinds = {type(step) for step in plan(heard)}
    assert kinds == {LoseHost, LoseWorker, Short}


def test_a_worker_that_never_begins_is_wanted_anew():
    world = World()
    world.host("a", 2)
    world.event(0, 1)
    world.hosts["a"].up = False
    [first] = of_kind(world.turn(), Start)
    world.hosts["a"].seen_at = world.now = world.now + 21_000
    steps = world.turn()
    [lost] = of_kind(steps, LoseWorker)
    assert (lost.worker, lost.why) == (first.worker, "it did not begin within 20 s")
    assert len(of_kind(steps, Start)) == 1


def test_a_spare_worker_ends_after_a_while_and_is_used_before():
    world = world_of({"a": 4}, 1, hot=1)
    world.ends(100)
    world.told.clear()
    for _ in range(SPARE_SECONDS - 5):
        world.second()
    assert not of_kind(world.told, Stop)
    world.event(101, 2, Mode.HOT, hot=True)
    world.told.clear()
    world.settle()
    assert not of_kind(world.told, Start)
    world.ends(101)
    world.settle()
    assert len(world.workers) == 2


def test_where_only_draining_hosts_are_left_events_stay():
    world = world_of({"a": 4}, 2)
    world.hosts["a"].draining = True
    world.told.clear()
    world.settle()
    assert [type(step) for step in world.told] == [Short]
    assert all(world.rows.values())


def test_a_draining_host_takes_events_while_no_other_one_is_there_and_gives_them_up_again():
    world = world_of({"a": 4, "b": 4}, 3, hot=1)
    world.hosts["a"].draining = True
    world.settle()
    assert "a" not in {host for event in world.events for host in hosts_of(world, event)}
    for host in ("a", "b"):
        world.dies(host)
    for _ in range(2):
        world.now += SECOND
    world.comes_back("a")
    world.told.clear()
    world.settle()
    assert {owner_host(world, event) for event in world.events} == {"a"}
    assert of_kind(world.told, Short)[-1].why.startswith("only hosts that drain are there: a; until")
    though = "; it is draining, but no other host is there"
    assert all(step.why.endswith(though) for step in world.told if isinstance(step, (Start, Assign)))
    world.comes_back("b")
    world.told.clear()
    world.settle()
    assert "a" not in {host for event in world.events for host in hosts_of(world, event)}
    assert of_kind(world.told, Short)[-1].why == "there are enough slots again"
    assert not [one for one in world.workers.values() if one.host == "a"]


def test_a_draining_host_takes_nothing_before_others_could_be_heard_of():
    world = world_of({"a": 4, "b": 4}, 2)
    world.hosts["a"].draining = True
    world.settle()
    silent = msgspec.structs.replace(world.view(), now=world.now + 60_000, heard_since=world.now + 59_000)
    assert plan(silent) == []


def test_moves_of_operators_stay():
    """What an operator did is what is: a worker elsewhere, preferred."""
    world = world_of({"a": 2, "b": 2, "c": 2}, hot=1)
    other = next(name for name in world.hosts if name not in hosts_of(world, 100))
    step = Start(worker=world.view().seed, host=other, why="moved")
    world.do(step)
    world.do(Assign(event=100, worker=step.worker, host=other, why="moved"))
    world.do(Prefer(event=100, worker=step.worker, host=other, why="moved"))
    world.settle()
    assert world.events[100].owner == step.worker
    assert len(world.rows[100]) == 2


def test_notes_are_not_told_and_all_else_says_why():
    world = world_of({"a": 2}, 2)
    world.events[0].arrivals = 1_000.0
    [note] = world.second()
    assert (type(note), note.why, Note.WHAT) == (Note, "", None)


def test_settings_are_read_within_bounds():
    read = Limits.from_env({"ONSALE_FLEET_HOT_UNDECIDED": "50000", "ONSALE_FLEET_BUSY_SECONDS": ""})
    assert read == Limits(hot_undecided=50_000)
    assert set(BOUNDS) == set(Limits.__struct_fields__)
    for name, text in (
        ("MOVES_PER_TURN_MAX", "0"),
        ("MOVES_PER_TURN_MAX", "101"),
        ("QUIET_SECONDS", "-1"),
        ("QUIET_SECONDS", "1.5"),
        ("BUSY_SECONDS", "soon"),
    ):
        with pytest.raises(
            FleetSettingNotValid, match=f"ONSALE_FLEET_{name} is '{text}'; it must be a whole"
        ):
            Limits.from_env({f"ONSALE_FLEET_{name}": text})
    with pytest.raises(FleetSettingNotValid, match="must be below ONSALE_FLEET_HOT_UNDECIDED"):
        Limits.from_env({"ONSALE_FLEET_COLD_UNDECIDED": "2000"})
