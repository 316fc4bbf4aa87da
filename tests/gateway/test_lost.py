"""Nobody who was told "accepted" is forgotten: lost fan-out, lost streams, engines that are away."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import psycopg
import pytest
import redis.asyncio

from gateway.buyers import reask as reask_module
from store import lookups
from store.errors import Unavailable
from store.wire import (
    STREAM_LOST,
    Delta,
    arrival_after,
    decode_entry,
    encode_delta,
    seats_channel,
    stream_key,
)
from tests.gateway.rig import EVENT, SEATS, StandIn, gateway, make_event, scenario, until


@pytest.fixture
def event(database_url):
    return make_event(database_url)


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(reask_module, "EVERY_SECONDS", 0.1)
    monkeypatch.setattr(reask_module, "ASK_AFTER_SECONDS", 0.2)


@scenario
async def test_a_decision_that_was_not_published_is_found_in_the_ledger(engine_urls, event):
    async with gateway(engine_urls) as served, StandIn(engine_urls, event) as allocator:
        allocator.publishing = False
        async with served.socket() as ann:
            await ann.ask("r1", seats=[SEATS[0]])
            accepted = await ann.receive("accepted")
            decision = await ann.receive("decision")
            assert decision["arrival"] == accepted["arrival"]
            assert served.runtime.events.loaded()[0].reask.redelivered == 1


@scenario
async def test_an_unpublished_conflict_is_told_by_the_allocator_for_that_arrival_only(engine_urls, event):
    async with (
        gateway(engine_urls) as served,
        StandIn(engine_urls, event) as allocator,
        served.socket() as ann,
    ):
        await ann.ask("r1", seats=[SEATS[0]])
        first = await ann.receive("decision")
        allocator.publishing = False
        await ann.ask("r1", seats=[SEATS[1]])
        accepted = await ann.receive("accepted")
        assert accepted["arrival"] != first["arrival"]
        await until(lambda: allocator.read[-1].first_arrival == accepted["arrival"])
        allocator.publishing = True
        conflict = await ann.receive("decision")
        assert (conflict["outcome"], conflict["result"]) == ("conflict", {"reason": "key_reused"})
        assert conflict["arrival"] == accepted["arrival"]


@scenario
async def test_a_conflict_that_nobody_decided_is_not_told(engine_urls, event):
    async with (
        gateway(engine_urls) as served,
        StandIn(engine_urls, event) as allocator,
        served.socket() as ann,
    ):
        await ann.ask("r1", seats=[SEATS[0]])
        await ann.receive("decision")
        allocator.deciding = False
        await ann.ask("r1", seats=[SEATS[1]])
        accepted = await ann.receive("accepted")
        [pending] = served.runtime.events.loaded()[0].intake.undecided.values()
        await until(lambda: pending.asked_times > 0)
        assert not pending.decided
        await allocator.redis.xdel(stream_key(EVENT), accepted["arrival"])
        await ann.ask("r2", seats=[SEATS[2]])
        allocator.deciding = True
        told = [await ann.receive("decision") for _ in range(2)]
        assert {frame["id"]: frame["outcome"] for frame in told} == {"r2": "held", "r1": "conflict"}
        assert allocator.read[-1].first_arrival == accepted["arrival"], "it was decided after all"


@scenario
async def test_an_entry_the_stream_lost_is_appended_again_with_its_first_arrival(engine_urls, event):
    async with gateway(engine_urls) as served, StandIn(engine_urls, event) as allocator:
        allocator.deciding = False
        async with served.socket() as ann:
            await ann.ask("r1", seats=[SEATS[0]])
            accepted = await ann.receive("accepted")
            await allocator.redis.xdel(stream_key(EVENT), accepted["arrival"])
            await ann.ask("r2", seats=[SEATS[1]])
            await ann.receive("accepted")
            allocator.deciding = True
            decisions: dict[str, Any] = {}
            while len(decisions) < 2:
                frame = await ann.receive("decision")
                decisions[frame["id"]] = frame
            assert decisions["r1"]["arrival"] == accepted["arrival"]
            assert allocator.read[-1].first_arrival == accepted["arrival"]


@scenario
async def test_a_stream_that_was_lost_is_made_again_and_the_accepted_go_first(engine_urls, event):
    async with gateway(engine_urls) as served, StandIn(engine_urls, event) as allocator:
        allocator.deciding = False
        async with served.socket("ann") as ann, served.socket("bob") as bob:
            arrivals = []
            for n in range(3):
                await ann.ask(f"r{n}", seats=[SEATS[n]])
                arrivals.append((await ann.receive("accepted"))["arrival"])
            await allocator.redis.delete(stream_key(EVENT))
            await bob.ask("new", seats=[SEATS[0]])
            await bob.receive("accepted")
            entries: Any = await allocator.redis.xrange(stream_key(EVENT))
            assert b"c" in entries[0][1]
            read = [decode_entry(fields[b"r"]) for _, fields in entries[1:]]
            assert [entry.request_id for entry in read[:4]] == ["r0", "r1", "r2", "new"]
            assert [entry.first_arrival for entry in read[:4]] == [*arrivals, ""]
            allocator.deciding = True
            assert (await bob.receive("decision"))["outcome"] == "taken"
            assert (await ann.receive("decision"))["outcome"] == "held"


@scenario
async def test_told_that_the_stream_was_lost_it_appends_again_what_another_gateway_would_overtake(
    engine_urls, event
):
    """The stream was deleted and made anew by somebody else; no connection was lost: nothing to notice."""
    async with gateway(engine_urls) as served, StandIn(engine_urls, event) as allocator:
        allocator.deciding = False
        async with served.socket() as ann:
            await ann.ask("r1", seats=[SEATS[0]])
            accepted = (await ann.receive("accepted"))["arrival"]
            await allocator.redis.delete(stream_key(EVENT))
            marker = arrival_after(accepted)
            await allocator.redis.xadd(stream_key(EVENT), {"c": "1"}, id=marker)
            await until(lambda: served.runtime.events.loaded()[0].following)
            told = encode_delta(Delta(0, 0, [], [], [], [], STREAM_LOST))
            await allocator.redis.publish(seats_channel(EVENT), told)
            reply: Any = await allocator.redis.xread({stream_key(EVENT): marker}, block=4000)
            [(_, fields)] = next(iter(reply.values()))[0] if isinstance(reply, dict) else reply[0][1]
            assert decode_entry(fields[b"r"]).first_arrival == accepted


@scenario
async def test_a_lost_stream_is_noticed_without_a_new_request(engine_urls, event):
    async with gateway(engine_urls) as served, StandIn(engine_urls, event) as allocator:
        allocator.deciding = False
        async with served.socket() as ann:
            await ann.ask("r1", seats=[SEATS[0]])
            await ann.receive("accepted")
            await allocator.redis.delete(stream_key(EVENT))
            allocator.deciding = True
            assert (await ann.receive("decision"))["outcome"] == "held"


async def cut_subscribers(client: redis.asyncio.Redis) -> None:
    """Those of this test's database; the server is shared with other tests."""
    number = str(client.connection_pool.connection_kwargs["db"])
    for subscriber in await client.client_list(_type="pubsub"):
        if subscriber["db"] == number:
            await client.client_kill_filter(_id=subscriber["id"])


@scenario
async def test_fan_out_that_was_cut_comes_back_and_nothing_is_missed(engine_urls, event):
    async with (
        gateway(engine_urls) as served,
        StandIn(engine_urls, event) as allocator,
        served.socket() as ann,
    ):
        allocator.deciding = False
        await ann.ask("r1", seats=[SEATS[0]])
        await ann.receive("accepted")
        loaded = served.runtime.events.loaded()[0]
        await cut_subscribers(allocator.redis)
        await until(lambda: not loaded.following)
        allocator.deciding = True
        assert (await ann.receive("decision"))["outcome"] == "held"
        await until(lambda: loaded.following)
        await ann.ask("r2", seats=[SEATS[1]])
        await ann.receive("decision")


@scenario
async def test_while_postgres_is_away_a_buyer_is_told_once_that_it_takes_longer(
    engine_urls, event, monkeypatch
):
    async with gateway(engine_urls) as served, StandIn(engine_urls, event) as allocator:
        allocator.deciding = False
        async with served.socket("ann") as ann, served.socket("bob") as bob:
            await ann.ask("r1", seats=[SEATS[0]])
            await ann.receive("accepted")

            async def away(*_):
                raise psycopg.OperationalError("away")

            with monkeypatch.context() as patch:
                patch.setattr(lookups, "cursor_of", away)
                patch.setattr(lookups, "decisions", away)
                assert await ann.receive() == {"type": "delayed", "id": "r1"}
                await ann.nothing_for(0.4)
                await bob.send({"type": "resume", "ids": ["r9"]})
                refusal = await bob.receive("error")
                assert (refusal["code"], refusal["id"]) == ("unavailable", "r9")
                assert (await served.post({"seats": [SEATS[5]]}, buyer="eve")).status == 202
            allocator.deciding = True
            assert (await ann.receive("decision"))["outcome"] == "held"
            await until(lambda: not served.runtime.events.loaded()[0].reask.database_away)


@scenario
async def test_decisions_far_behind_refuse_what_is_new_and_not_what_is_known(engine_urls, event):
    async with (
        gateway(engine_urls, bounds={"lag_seconds_max": 0.3}) as served,
        StandIn(engine_urls, event) as allocator,
    ):
        allocator.deciding = False
        async with served.socket("ann") as ann, served.socket("bob") as bob:
            await ann.ask("r1", seats=[SEATS[0]])
            await ann.receive("accepted")
            loaded = served.runtime.events.loaded()[0]
            await until(lambda: loaded.intake.refuse_new is not None)
            await bob.ask("r1", seats=[SEATS[1]])
            refusal = await bob.receive("error")
            assert (refusal["code"], refusal["retry_after"]) == ("lagging", 5)
            await ann.ask("r1", seats=[SEATS[0]], again=True)
            await ann.receive("accepted")
            allocator.deciding = True
            await ann.receive("decision")
            await until(lambda: loaded.intake.refuse_new is None)


@scenario
async def test_a_look_up_that_fails_is_unavailable_and_the_next_one_works(engine_urls, event, monkeypatch):
    async with gateway(engine_urls) as served, StandIn(engine_urls, event), served.socket() as ann:
        await ann.ask("r1", seats=[SEATS[0]])
        await ann.receive("decision")
        loaded = served.runtime.events.loaded()[0]
        with psycopg.connect(engine_urls.database_url, autocommit=True) as conn:
            conn.execute(
                "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
                " WHERE application_name = 'onsale gateway' AND datname = current_database()"
            )
        for _ in range(20):
            try:
                assert await loaded.recall.find("ann", "r1") is not None
                break
            except Unavailable:
                await asyncio.sleep(0.1)
        else:
            pytest.fail("the pool did not recover")


FILL = """
INSERT INTO ledger SELECT event, n, 0, 'request', '1-1', 'b' || n, 'r', '{}', 'held', '{}'
  FROM generate_series(%s::int, %s) AS event, generate_series(%s::int, %s) AS n
"""
KNOWN = {
    "nothing": (),
    "it is empty": ("VACUUM ANALYZE ledger",),
    "this event when it was small": ((0, 0, 1, 20), "VACUUM ANALYZE ledger"),
    "another event": ((1, 1, 1, 20), "VACUUM ANALYZE ledger"),
    "many events of one row": ((1, 60, 1, 1), "VACUUM ANALYZE ledger", "DELETE FROM ledger"),
    "one row of another event": ((1, 1, 1, 1), "VACUUM ANALYZE ledger", (0, 0, 21, 5_000)),
    "all": ((0, 0, 21, 5_000), "ANALYZE ledger"),
}
"""Rows put in (first and last event counted from this one, first and last number); what was made of them."""


@scenario
@pytest.mark.parametrize("known", KNOWN)
async def test_a_look_up_probes_the_key_index_for_each_key(engine_urls, event, known):
    """Whatever the statistics say; a plan is made once and must be right for what comes later."""
    text = re.sub(r"%s", "{}", lookups.DECISIONS).format("$1", "$2", "$3")
    with psycopg.connect(engine_urls.database_url, autocommit=True) as conn:
        conn.execute("SET session_replication_role = replica")  # the ledger refuses to be emptied
        for step in KNOWN[known]:
            if isinstance(step, str):
                conn.execute(step)
            else:
                conn.execute(FILL, (event + step[0], event + step[1], *step[2:]))
    pool = lookups.open_pool(engine_urls.database_url, size_max=1)
    async with pool, pool.connection() as conn:
        await conn.execute(f"PREPARE look_up (text[], text[], int) AS {text}")
        asked = "ARRAY['b30'], ARRAY['r'], " + str(event)
        rows = await (await conn.execute(f"EXPLAIN EXECUTE look_up ({asked})")).fetchall()
    plan = "\n".join(line for (line,) in rows)
    assert re.search(r"Index Scan (using|on) ledger_key .*\n *(Index|Recheck) Cond: .*request_id", plan), plan
