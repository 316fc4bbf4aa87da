"""Under a key a webhook is added, its secret changed and a test sent once, whoever is killed meanwhile."""

from __future__ import annotations

import pytest

from gateway.operators import webhooks
from gateway.operators.access import in_database
from tests.gateway import test_idempotency
from tests.gateway.rig import scenario
from tests.gateway.test_idempotency import REPLAYED, SAID, served

conn = test_idempotency.conn


@pytest.mark.parametrize("last", ["", "/1/rotate", "/1/test"])
@scenario
async def test_a_webhook_is_changed_once_even_if_the_gateway_died_before_it_answered(
    engine_urls, conn, monkeypatch, last
):
    async def dies(request, work):
        await in_database(request, work)
        raise RuntimeError("killed")

    made = SAID | {"url": "https://example.org/hook"}
    body = made if last == "" else SAID
    async with served(engine_urls) as call:
        assert (await call("/v1/operator/webhooks", made)).status == 201
        with monkeypatch.context() as killing:
            killing.setattr(webhooks, "in_database", dies)
            assert (await call(f"/v1/operator/webhooks{last}", body, "k1")).status == 500
        before = conn.execute("SELECT count(*) FROM subscriber_audit").fetchall()
        again = await call(f"/v1/operator/webhooks{last}", body, "k1")
        more = await call("/v1/operator/webhooks", made, "k2")
    assert (again.headers[REPLAYED], before) == ("true", [(2,)])
    assert again.headers["cache-control"] == "no-store"
    assert again.headers.get("location") == ("/v1/operator/webhooks/2" if last == "" else None)
    assert conn.execute("SELECT count(*) FROM subscriber_audit").fetchall() == [(3,)]
    assert more.status == 201
