"""Plans of random fleets: hosts that come, go, drain and die, events that begin, end, get hot and cold.

`World` checks each turn; here is what is demanded once nothing changes any more.
"""

from __future__ import annotations

import random

import pytest
from hypothesis import given, note
from hypothesis import strategies as st

from store.fleet.limits import Limits
from store.fleet.words import Mode
from tests.allocator.fleet.world import World
from tests.profiles import searching

pytestmark = pytest.mark.simulation

hosts = st.lists(st.integers(1, 6), min_size=1, max_size=4)
events = st.lists(
    st.tuples(st.integers(1, 4), st.sampled_from([Mode.AUTO, Mode.COLD, Mode.HOT])), min_size=1, max_size=14
)
happenings = st.lists(
    st.tuples(
        st.sampled_from(
            [
                "dies",
                "back",
                "drain",
                "keep",
                "kill",
                "begins",
                "ends",
                "scale",
                "busy",
                "calm",
                "wait",
                "slots",
            ]
        ),
        st.integers(0, 1_000),
        st.integers(0, 8),
    ),
    max_size=12,
)


def happen(world, what, which, much):
    names = sorted(world.hosts)
    name = names[which % len(names)]
    event = sorted(world.events)[which % len(world.events)] if world.events else None
    if what == "dies":
        world.dies(name)
    elif what == "back":
        world.comes_back(name)
    elif what == "drain" and len(world.open_hosts()) > 1:
        world.hosts[name].draining = world.hosts[name].known
    elif what == "keep":
        world.hosts[name].draining = False
    elif what == "slots":
        world.hosts[name].slots = 1 + much % 6
    elif what == "kill" and world.workers:
        world.kill(sorted(world.workers)[which % len(world.workers)])
    elif what == "begins":
        world.event(1_000 + which, 1 + much % 4, list(Mode)[much % 3])
    elif event is None:
        return
    elif what == "ends":
        world.ends(event)
    elif what == "scale":
        world.events[event].workers = 1 + much % 8
        world.events[event].mode = list(Mode)[which % 3]
    elif what == "busy":
        world.events[event].arrivals = 1_000.0
    elif what == "calm":
        world.events[event].arrivals = 0.0


def demand(world):
    """What is so in the end."""
    slots = world.slots()
    there = sum(host.known for host in world.hosts.values())
    last = there if world.events and not world.open_hosts() else 0
    assert world.short.drained == last, "that only draining hosts are there is told"
    chosen = {one for one, it in world.workers.items() if world.usable(it.host)}
    for event, it in world.events.items():
        rows = world.rows[event]
        note(f"{event}: {it} {rows}")
        if not slots:
            continue
        assert it.owner in rows, "somebody owns it"
        assert all(world.usable(world.workers[one].host) for one in rows), "nothing stays on draining hosts"
        assert len(rows) <= it.workers
        assert rows[it.owner].preferred
        assert len(rows) >= min(it.workers, len(chosen), 2), "somebody stands by, as far as slots allow"
    for name, host in world.hosts.items():
        assert sum(one.host == name for one in world.workers.values()) <= host.slots
    wanted = world.view()
    hot = [one.id for one in wanted.events if (one.hot if one.mode is Mode.AUTO else one.mode is Mode.HOT)]
    cold = [event for event in world.events if event not in hot]
    need = sum(world.events[event].workers for event in hot)
    need += max((world.events[event].workers for event in cold), default=0)
    load = world.load()
    if need <= slots:
        assert all(len(world.rows[event]) == it.workers for event, it in world.events.items())
        assert len(world.workers) == need, "no more and no fewer workers than are wanted"
        for event in hot:
            assert all(load[one] == 1 for one in world.rows[event]), "hot events have workers of their own"
        owners = {world.events[event].owner for event in cold}
        assert len(owners) <= max(1, len(cold))
        assert len({one for event in cold for one in world.rows[event]}) <= max(
            (world.events[event].workers for event in cold), default=0
        ), "cold events share"
        assert world.short.wanted == 0
    elif slots:
        assert len(world.workers) == slots, "each slot is used"
        assert (world.short.wanted, world.short.slots) == (need, slots)
        if not cold and len(hot) >= slots:
            owned = [sum(it.owner == one for it in world.events.values()) for one in world.workers]
            assert max(owned) - min(owned) <= max(2, len(hot) // slots), "never all on one"


@searching(60)
@given(hosts, events, happenings, st.integers(0, 2**16), st.integers(1, 5))
def test_each_fleet_settles_where_everything_is_attended_to(sizes, wishes, changes, seed, moves):
    world = World(Limits(moves_per_turn_max=moves, quiet_seconds=10), random.Random(seed))
    for number, slots in enumerate(sizes):
        world.host(f"host-{number}", slots)
    for number, (workers, mode) in enumerate(wishes):
        world.event(number, workers, mode)
    for what, which, much in changes:
        happen(world, what, which, much)
        for _ in range(much):
            world.second()
    for host in world.hosts.values():
        host.known = host.known or host.up
    world.settle()
    demand(world)
