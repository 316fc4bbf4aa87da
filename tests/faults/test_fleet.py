"""A fleet of two hosts under load: whoever is killed or stopped, somebody decides, and they are replaced.

What the planner wants is its own tests' subject; here workers, hosts and Redis go away, and every law holds.
"""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator

import psutil
import psycopg
import pytest

from onsale.processes import Stack, throwaway_stack
from store.fleet.workers import Running
from store.stream.redis_stream import connect as connect_redis
from tests.faults.stage import Sale, Stage, until

pytestmark = pytest.mark.faults

HOSTS = {"hall": 2, "attic": 2}
GONE_SECONDS = 60


class FleetStage(Stage):
    """Two gateways and two hosts; nothing between them and the engines."""

    def __enter__(self) -> FleetStage:
        with contextlib.ExitStack() as starting:
            self.stack = starting.enter_context(throwaway_stack(gateways=2, allocators=0, hosts=HOSTS))
            starting.callback(self.heal)
            self._leaving = starting.pop_all()
        return self

    def heal(self) -> None:
        super().heal()
        with psycopg.connect(self.stack.urls.database_url, autocommit=True) as conn:
            conn.execute("UPDATE fleet_host SET draining_at = NULL")
        for worker in self.stack.workers():
            with contextlib.suppress(ProcessLookupError):
                os.kill(worker.pid, signal.SIGCONT)

    def host_of(self, worker: Running) -> str:
        """The name of the process that is its agent."""
        return f"host-{worker.host}"


class FleetSale(Sale):
    """An event that workers of both hosts attend to."""

    def attending(self) -> list[Running]:
        return [one for one in self.stage.stack.workers() if self.event.slug in one.events]

    def owning(self) -> Running | None:
        """Who owns it and has a row."""
        owned_by = "SELECT worker FROM lease WHERE event_id = %s AND owner IS NOT NULL"
        processes = [process for (process,) in self.query(owned_by)]
        return next((one for one in self.attending() if one.process in processes), None)

    def owning_one(self) -> Running:
        """Who owns it; between two owners there is none for a moment."""
        found: list[Running] = []

        def owned() -> bool:
            found[:] = [one for one in (self.owning(),) if one is not None]
            return bool(found)

        until(owned, "somebody owns the event")
        return found[0]

    def wait_attended(self, *, but: Running | None = None) -> None:
        """Until one owns it and one stands by, warm, neither of them `but`."""
        warm = (
            "SELECT count(*) FROM fleet_assignment WHERE event_id = %s"
            " AND warm_at > clock_timestamp() - interval '2 seconds'"
        )

        def attended() -> bool:
            workers = [one.worker for one in self.attending()]
            alone = but is None or but.worker not in workers
            return alone and len(workers) >= 2 and self.owning() is not None and self.one(warm) >= 2

        until(attended, "one owns the event and another stands by, warm")


@pytest.fixture(scope="module")
def fleet() -> Iterator[FleetStage]:
    with FleetStage() as made:
        yield made


@pytest.fixture
def sale(fleet: FleetStage) -> Iterator[FleetSale]:
    with fleet.sale() as made:
        made.__class__ = FleetSale
        assert isinstance(made, FleetSale)
        made.wait_attended()
        yield made


def test_a_killed_worker_is_relieved_by_the_standby_and_replaced(fleet: FleetStage, sale: FleetSale):
    crowd = sale.desk.crowd(12)
    crowd.wait(60)
    killed, epoch = sale.owning_one(), sale.epoch
    os.kill(killed.pid, signal.SIGKILL)
    sale.wait_taken_over(epoch)
    crowd.wait(60)
    sale.wait_attended(but=killed)
    assert sale.one("SELECT count(*) FROM fleet_log WHERE what = 'lost' AND %s > 0") >= 1
    sale.check()


def test_a_worker_ends_with_the_rq_worker_that_began_it(fleet: FleetStage, sale: FleetSale):
    crowd = sale.desk.crowd(12)
    crowd.wait(60)
    owner, epoch = sale.owning_one(), sale.epoch
    process = psutil.Process(owner.pid)
    parent = process.parent()
    assert parent is not None
    parent.kill()
    assert psutil.wait_procs([process], GONE_SECONDS)[1] == []
    sale.wait_taken_over(epoch)
    crowd.wait(60)
    sale.wait_attended(but=owner)
    sale.check()


def test_a_killed_agent_takes_its_workers_along_and_comes_back_under_its_name(
    fleet: FleetStage, sale: FleetSale
):
    crowd = sale.desk.crowd(12)
    crowd.wait(60)
    owner, epoch = sale.owning_one(), sale.epoch
    agent = fleet.host_of(owner)
    everyone = psutil.Process(fleet.stack.pid(agent)).children(recursive=True)
    assert owner.pid in [one.pid for one in everyone]
    fleet.kill(agent)
    assert psutil.wait_procs(everyone, GONE_SECONDS)[1] == []
    sale.wait_taken_over(epoch)
    crowd.wait(60)
    assert sale.owning_one().host != owner.host
    fleet.stack.start_again(agent)
    its_agent = "SELECT count(*) FROM fleet_host WHERE %s > 0 AND name = %s AND process LIKE %s"
    pid = fleet.stack.pid(agent)
    until(lambda: sale.one(its_agent, owner.host, f"%:{pid}") == 1, "the host is there again")
    sale.wait_attended(but=owner)
    sale.check()


def test_when_redis_is_wiped_workers_go_on_and_a_lost_one_is_replaced_all_the_same(
    fleet: FleetStage, sale: FleetSale
):
    crowd = sale.desk.crowd(12)
    crowd.wait(60)
    before = {one.pid for one in sale.attending()}
    with contextlib.closing(connect_redis(fleet.stack.urls.redis_url)) as client:
        client.flushdb()
    crowd.wait(60)
    assert {one.pid for one in sale.attending()} == before
    killed, epoch = sale.owning_one(), sale.epoch
    os.kill(killed.pid, signal.SIGKILL)
    sale.wait_taken_over(epoch)
    crowd.wait(60)
    sale.wait_attended(but=killed)
    sale.check()


def test_while_redis_is_away_workers_stay_listed_and_takeover_does_not_wait_for_it(
    fleet: FleetStage, sale: FleetSale
):
    crowd = sale.desk.crowd(12)
    crowd.wait(60)
    before = {one.pid for one in fleet.stack.workers()}
    fleet.kill("valkey")
    moment = sale.one("SELECT clock_timestamp() FROM event WHERE id = %s")
    heard = (
        "SELECT count(*) FROM fleet_worker WHERE %s > 0 AND seen_at > %s::timestamptz + interval '5 seconds'"
    )
    until(lambda: sale.one(heard, moment) == len(before), "all are heard of without Redis")
    assert {one.pid for one in fleet.stack.workers()} == before
    killed, epoch = sale.owning_one(), sale.epoch
    os.kill(killed.pid, signal.SIGKILL)
    sale.wait_taken_over(epoch)
    fleet.stack.start_again("valkey")
    crowd.wait(60)
    sale.wait_attended(but=killed)
    sale.check()


def test_an_agent_that_is_stopped_hands_over_and_leaves_nothing_behind(fleet: FleetStage, sale: FleetSale):
    crowd = sale.desk.crowd(12)
    crowd.wait(60)
    owner, epoch = sale.owning_one(), sale.epoch
    agent = fleet.host_of(owner)
    assert fleet.stack.processes[agent].stop(), "it ends by itself"
    sale.wait_taken_over(epoch)
    assert sale.owning_one().host != owner.host
    assert owner.host not in [one.host for one in fleet.stack.workers()]
    hosts = "SELECT count(*) FROM fleet_host WHERE %s > 0 AND name = %s"
    assert sale.one(hosts, owner.host) == 0
    crowd.wait(60)
    fleet.stack.start_again(agent)
    sale.wait_attended(but=owner)
    sale.check()


def test_of_a_host_that_is_drained_everything_goes_to_another(fleet: FleetStage, sale: FleetSale):
    crowd = sale.desk.crowd(12)
    crowd.wait(60)
    owner, epoch = sale.owning_one(), sale.epoch
    drain = "UPDATE fleet_host SET draining_at = {} WHERE %s > 0 AND name = %s"
    sale.query(drain.format("clock_timestamp()"), owner.host)
    sale.wait_taken_over(epoch)
    until(
        lambda: owner.host not in [one.host for one in fleet.stack.workers()],
        "no worker runs on the drained host",
    )
    assert sale.owning_one().host != owner.host
    crowd.wait(60)
    sale.query(drain.format("NULL"), owner.host)
    sale.check()


def test_of_two_hosts_that_were_killed_the_draining_one_goes_on_alone_until_the_other_is_back(
    fleet: FleetStage, sale: FleetSale
):
    """A sale that stands still is worse than a drained host that works."""
    crowd = sale.desk.crowd(12)
    crowd.wait(60)
    keeps = sale.owning_one()
    drained = next(name for name in HOSTS if name != keeps.host)
    sale.query("UPDATE fleet_host SET draining_at = clock_timestamp() WHERE %s > 0 AND name = %s", drained)
    ours = "SELECT count(*) FROM fleet_worker WHERE %s > 0 AND host = %s"
    until(lambda: sale.one(ours, drained) == 0, "the drained host is empty")
    agents = [f"host-{name}" for name in HOSTS]
    everyone = [
        one for agent in agents for one in psutil.Process(fleet.stack.pid(agent)).children(recursive=True)
    ]
    for agent in agents:
        fleet.kill(agent)
    assert psutil.wait_procs(everyone, GONE_SECONDS)[1] == []
    fleet.stack.start_again(f"host-{drained}")
    until(
        lambda: (one := sale.owning()) is not None and one.host == drained, "the draining host owns the event"
    )
    crowd.wait(60)
    said = "SELECT count(*) FROM fleet_log WHERE %s > 0 AND what = 'short' AND why LIKE %s"
    assert sale.one(said, f"only hosts that drain are there: {drained};%") == 1
    fleet.stack.start_again(f"host-{keeps.host}")
    until(lambda: sale.one(ours, drained) == 0, "the draining host gave everything up again")
    assert sale.owning_one().host == keeps.host
    crowd.wait(60)
    sale.query("UPDATE fleet_host SET draining_at = NULL WHERE %s > 0")
    sale.wait_attended()
    sale.check()


def test_a_worker_that_was_stopped_past_its_lease_is_replaced_and_ends_when_it_goes_on(
    fleet: FleetStage, sale: FleetSale
):
    crowd = sale.desk.crowd(12)
    crowd.wait(60)
    stopped, epoch = sale.owning_one(), sale.epoch
    process = psutil.Process(stopped.pid)
    process.suspend()
    sale.wait_taken_over(epoch)
    crowd.wait(60)
    sale.wait_attended(but=stopped)
    process.resume()
    assert psutil.wait_procs([process], GONE_SECONDS)[1] == []
    sale.check()


def test_a_second_agent_of_the_same_name_is_refused_while_the_first_lives(fleet: FleetStage, sale: FleetSale):
    first = fleet.stack.pid("host-hall")
    more = Stack(fleet.stack.engines, gateways=0, allocators=0, hosts={"hall": 1})
    more.start()
    try:
        agent = more.processes["host-hall"].child
        assert agent.wait(GONE_SECONDS) == 2
        assert "is there already and alive" in agent.last_words()
        assert f":{first}." in agent.last_words()
    finally:
        more.stop()
    assert sale.one("SELECT count(*) FROM fleet_host WHERE %s > 0") == len(HOSTS)
    sale.desk.crowd(4).wait(20)
    sale.check()
