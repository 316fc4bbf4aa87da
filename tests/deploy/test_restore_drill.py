"""The runbook's restore, done as it is written: what compose.yaml starts sells, is backed up, sells on, is
stopped, and goes on from the backup in another database, on the Valkey there is.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from bench.checker import judge
from bench.truth import read_truth
from store import migrate
from tests.conftest import Rig, engines_beside
from tests.deploy.selling import GALA, Buyer, make_sale
from tests.deploy.test_processes import ROOT, Composed

COMMAND_SECONDS_MAX = 120


@pytest.fixture
def there(new_database: Callable[..., str]) -> str:
    """Where the backup goes: an empty database."""
    return new_database(migrated=False)


@pytest.fixture
def composed(rig: Rig, there: str, tmp_path: Path) -> Iterator[Composed]:
    """Ends before the database does that it goes on in."""
    with engines_beside(rig) as urls:
        migrate.upgrade(urls.database_url)
        made = Composed(tmp_path, urls.database_url, urls.redis_url)
        try:
            made.start_all()
            make_sale(urls.database_url, GALA, room=False)
            yield made
        finally:
            made.stop_all()


def onsale(composed: Composed, *words: str) -> dict[str, Any]:
    """A command as it is run in a gateway's container; what it says as JSON. It must end well."""
    done = subprocess.run(
        ["sh", str(ROOT / "deploy/onsale"), *words, "--json"],
        env=composed.environment("gateway"),
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=COMMAND_SECONDS_MAX,
    )
    assert done.returncode == 0, done.stderr
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def refusal(buyer: Buyer, path: str) -> tuple[int, str]:
    reply = buyer.call("POST", path, {})
    return reply.status, reply.body["code"]


def test_a_sale_goes_on_from_its_backup_and_nobody_is_told_what_is_not_so(
    composed: Composed, there: str, tmp_path: Path
):
    def buyer(name: str) -> Buyer:
        return Buyer(f"http://127.0.0.1:{composed.gateways[0]}", composed.token_secret, name, GALA)

    ann, ben, cem, dan, eve = map(buyer, ("ann", "ben", "cem", "dan", "eve"))
    anns, bens = ann.hold(), ben.hold()
    ann.pay(anns)
    onsale(composed, "backup", "--to", str(tmp_path / "then.backup"))
    cems, dans = cem.hold(), dan.hold()
    cem.pay(cems)
    composed.stop_all()

    (composed.secrets / "database_url").write_text(there)
    told = onsale(composed, "restore", str(tmp_path / "then.backup"), "--verify")
    assert (told["verified"], told["wrong"]) == (True, {})
    composed.start_all()

    assert ann.ask().body["result"]["hold"] == anns, "her decision is the one she was told"
    assert refusal(ann, f"/holds/{anns}/release") == (409, "hold_paid")
    ben.pay(bens)
    for lost, hold in ((cem, cems), (dan, dans)):
        for what in ("payment", "release"):
            assert refusal(lost, f"/holds/{hold}/{what}") == (404, "hold_not_found"), "it is nobody's"
    again = [lost.hold() for lost in (cem, dan)]
    assert {anns, bens, cems, dans}.isdisjoint(again), "no number is given twice"
    cem.pay(again[0])
    eve.pay(eve.hold())

    with psycopg.connect(there) as conn:
        orders = conn.execute("SELECT buyer FROM hold WHERE state = 'paid' ORDER BY buyer").fetchall()
        assert [name for (name,) in orders] == ["ann", "ben", "cem", "eve"]
        conn.rollback()
        assert judge([], read_truth(conn, GALA)) == []
    assert onsale(composed, "verify", GALA)["findings"] == []
