"""Pages of listed origins may do all that a buyer can, and nothing that is an operator's."""

from __future__ import annotations

import pytest

from gateway.api import create_api
from gateway.cross_origin import METHODS, OPERATORS
from gateway.settings import Settings
from store.settings import EngineUrls
from tests.gateway.rig import EVENT, SECRET, gateway, make_event, scenario

SHOP = "https://tickets.example"
KEY = "an operator key of the tests"
WISH = f"/v1/events/{EVENT}/room/wish"


@pytest.fixture
def event(database_url):
    return make_event(database_url)


def asks(method):
    wanted = "authorization,content-type,idempotency-key,prefer"
    return {
        "Origin": SHOP, "Access-Control-Request-Method": method, "Access-Control-Request-Headers": wanted,
    }  # fmt: skip


def test_every_method_that_buyers_call_may_come_from_listed_pages_and_no_other():
    api = create_api(Settings(EngineUrls("postgresql://", "redis://"), token_secret=SECRET))
    called = {
        method.upper()
        for path, calls in api.openapi()["paths"].items()
        for method in calls
        if not path.startswith(OPERATORS)
    }
    assert called == set(METHODS)


@scenario
async def test_a_listed_page_is_told_that_it_may(engine_urls, event):
    async with gateway(engine_urls, origins=frozenset({SHOP})) as served:
        for method, status in (("PUT", 200), ("DELETE", 400), ("PATCH", 400)):
            answer = await served.http("OPTIONS", WISH, headers=asks(method))
            assert answer.status == status, method
        answer = await served.http("OPTIONS", WISH, headers=asks("PUT") | {"Origin": "https://evil.example"})
        assert (answer.status, answer.headers.get("access-control-allow-origin")) == (400, None)


@scenario
async def test_no_page_of_another_origin_may_operate_listed_or_not(engine_urls, event):
    path, head = f"/v1/operator/events/{EVENT}", {"Authorization": f"Bearer {KEY}"}
    async with gateway(engine_urls, operator_key=KEY, origins=frozenset({SHOP})) as served:
        for method in ("GET", "POST", "PUT", "PATCH", "DELETE"):
            answer = await served.http("OPTIONS", f"{path}/policy", headers=asks(method))
            assert "access-control-allow-origin" not in answer.headers, method
            assert answer.status == 405, method
        read = await served.http("GET", path, headers=head | {"Origin": SHOP})
        assert (read.status, "access-control-allow-origin" in read.headers) == (200, False)
