"""What Prometheus is told of a gateway's waiting rooms: names, values, and a bounded set of labels."""

from __future__ import annotations

from prometheus_client.parser import text_string_to_metric_families

from gateway.room.metrics import OTHER, REFUSALS
from gateway.room.settings import RoomSettings
from store.errors import BadRequest
from store.room.words import Proof
from tests.gateway.rig import EVENT, gateway, make_event, scenario
from tests.gateway.room.lobby import join, make_room, room_at


async def numbers(served):
    text = (await served.http("GET", "/metrics")).body.decode()
    return {
        (sample.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name.startswith("onsale_gateway_room") and not sample.name.endswith("_created")
    }


@scenario
async def test_joins_who_is_here_and_what_they_were_told_are_counted(engine_urls):
    make_room(engine_urls.database_url, proof=Proof.OFF)
    async with gateway(engine_urls) as served:
        for buyer in ("ann", "bob"):
            assert (await join(served, buyer)).status == 200
        async with served.socket("ann") as ann, served.socket("ann"):
            await ann.receive("place", but=("room",))
            found = await numbers(served)
            assert found["onsale_gateway_room_joined_total", EVENT] == 2
            assert 1 <= found["onsale_gateway_room_join_groups_total", EVENT] <= 2
            assert found["onsale_gateway_room_joining", EVENT] == 0
            assert found["onsale_gateway_room_here", EVENT] == 1, "a buyer is one, on however many sockets"
            assert found["onsale_gateway_room_lookups_total", EVENT] >= 1
            room = room_at(served)
            room.status.frames += 7
            assert (await numbers(served))["onsale_gateway_room_frames_total", EVENT] >= 7
        assert found["onsale_gateway_room_streams",] == 0


@scenario
async def test_each_refusal_of_a_join_is_counted_once_by_its_code(engine_urls):
    make_room(engine_urls.database_url, proof=Proof.OFF)
    async with gateway(engine_urls, room=RoomSettings(joins_per_buyer_minute=1)) as served:
        assert (await join(served, "ann", {"code": "none"})).json()["code"] == "code_not_valid"
        for _ in range(2):
            assert (await join(served, "ann", {"code": "0000-0000-0000-0000"})).status == 404
        while (await join(served, "ann")).status == 200:
            pass
        room_at(served).joins.was_refused(BadRequest("never_heard_of", "It is new."))
        found = await numbers(served)
        refused = {one[1]: value for one, value in found.items() if "refused" in one[0]}
        assert set(refused) == {*map(str, REFUSALS), OTHER}
        assert {code: count for code, count in refused.items() if count} == {
            "code_not_valid": 1, "unknown_code": 2, "too_many_joins": 1, OTHER: 1,
        }  # fmt: skip


@scenario
async def test_an_event_without_a_waiting_room_has_no_numbers_of_one(engine_urls):
    make_event(engine_urls.database_url)
    async with gateway(engine_urls) as served:
        assert (await served.http("GET", f"/v1/events/{EVENT}")).status == 200
        assert set(await numbers(served)) == {("onsale_gateway_room_streams",)}
