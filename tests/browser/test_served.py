"""What the pages' routes answer: headers, caching, and the stampede of the demo. No browser here."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import httpx
import pytest

from gateway.pages import demo
from tests.browser import stub_stripe
from tests.browser.fake_gateway import FakeGateway, Running

RESULT = {
    "buyers": 100, "seats": 1, "gate": True, "held": 1, "rejected": 39, "not_queued": 60, "unanswered": 0,
    "oversold": 0, "order_violations": 0, "seconds_first_to_last": 0.3, "decisions_per_second": 1210.0,
    "latency_ms": {"p50": 6.1, "p95": 41.0, "p99": 80.0, "max": 122.0},
}  # fmt: skip
SAYS_RESULT = f"print({json.dumps(RESULT)!r})"
WISH = {"buyers": 100, "seats": 1, "gate": "on"}
STATIC = Path(demo.__file__).parent / "static"


def generator(monkeypatch: pytest.MonkeyPatch, code: str) -> list[str]:
    """Puts a small program in the load generator's place; gives the addresses it was aimed at."""
    urls: list[str] = []

    def command(_wish: demo.StampedeWish, url: str) -> list[str]:
        urls.append(url)
        return [sys.executable, "-c", code]

    monkeypatch.setattr(demo, "command", command)
    return urls


@pytest.fixture
def fake() -> FakeGateway:
    return FakeGateway()


@pytest.fixture
def client(fake: FakeGateway) -> Iterator[httpx.Client]:
    with Running(fake) as running, httpx.Client(base_url=running.url) as client:
        yield client


def finished(client: httpx.Client, run_id: str) -> dict[str, object]:
    while True:
        answer: dict[str, object] = client.get(f"/v1/demo/stampede/{run_id}").json()
        if answer["state"] != "running":
            return answer


def test_the_page_allows_nothing_inline_and_no_other_host(client: httpx.Client) -> None:
    answer = client.get("/e/demo")
    policy = answer.headers["content-security-policy"]
    assert "unsafe" not in policy
    assert "http" not in policy
    assert policy.startswith("default-src 'none'")
    assert "worker-src 'self';" in policy, "a proof of work is done beside the page"
    assert re.search(r"<script(?![^>]*(src=|application/json))", answer.text) is None
    assert " style=" not in answer.text


@pytest.fixture
def by_stripe(fake: FakeGateway) -> None:
    fake.payments = stub_stripe.settings("http://shop.example")


@pytest.mark.usefixtures("by_stripe")
def test_only_the_page_to_pay_on_allows_stripe_and_nobody_else(client: httpx.Client) -> None:
    answer = client.get("/e/demo/pay/65536")
    policy = answer.headers["content-security-policy"]
    hosts = {"js.stripe.com", "*.js.stripe.com", "hooks.stripe.com", "api.stripe.com"}
    assert set(re.findall(r"https://([^ ;]+)", policy)) == hosts
    assert "unsafe" not in policy
    assert policy.startswith("default-src 'none'")
    assert re.search(r"<script(?![^>]*(src=|application/json))", answer.text) is None
    for path in ("/e/demo", "/", "/e/demo/tickets"):
        assert "stripe" not in client.get(path).headers["content-security-policy"]


@pytest.mark.usefixtures("by_stripe")
def test_it_knows_what_everybody_may_know_and_no_more(client: httpx.Client) -> None:
    told = re.search(r'id="bootstrap">(.*?)</script>', client.get("/e/demo/pay/65536").text)
    assert told is not None
    assert json.loads(told[1]) == {
        "event": "demo",
        "name": "Nightfall, opening night",
        "hold": "65536",
        "returns": "http://shop.example/e/demo?paid=65536",
        "stripe": "pk_test_of_the_tests",
        "demo": True,
    }
    assert client.get("/e/demo/pay/0").status_code == 422


@pytest.mark.usefixtures("by_stripe")
def test_an_event_there_is_not_is_not_paid_for(client: httpx.Client) -> None:
    assert client.get("/e/nowhere/pay/1").headers["location"] == "/e/nowhere"


@pytest.mark.parametrize("other", [{"provider": "simulated"}, {"stripe_publishable_key": ""}])
def test_without_stripe_there_is_no_page_to_pay_on(
    fake: FakeGateway, client: httpx.Client, other: dict[str, str]
) -> None:
    known = {"simulated_url": "http://127.0.0.1:9", "simulated_secret": "x"}
    fake.payments = replace(stub_stripe.settings("http://shop.example"), **known | other)
    answer = client.get("/e/demo/pay/65536")
    assert (answer.status_code, answer.headers["location"]) == (303, "/e/demo")


def test_a_name_in_the_address_cannot_become_markup(client: httpx.Client) -> None:
    assert client.get("/e/%3Cscript%3E").status_code == 422
    assert client.get("/e/a.b~c").status_code == 404


def test_an_event_there_is_not_has_a_page_that_says_so(client: httpx.Client) -> None:
    there, missing = client.get("/e/demo"), client.get("/e/nowhere")
    assert (there.status_code, missing.status_code) == (200, 404)
    assert missing.headers["content-type"] == there.headers["content-type"]
    assert missing.text == there.text.replace("demo</title>", "nowhere</title>").replace(
        '"event": "demo"', '"event": "nowhere"'
    )


def test_files_are_kept_for_good_under_their_fingerprint(client: httpx.Client) -> None:
    page = client.get("/e/demo").text
    address = re.search(r'src="(/static/[0-9a-f]{12}/app\.js)"', page)
    assert address is not None
    kept = client.get(address[1])
    assert "immutable" in kept.headers["cache-control"]
    assert kept.headers["content-type"].startswith("text/javascript")
    old = client.get("/static/000000000000/app.js")
    assert (old.status_code, old.headers["cache-control"]) == (200, "no-store")
    assert client.get("/static/x/../../demo.py").status_code == 404
    assert client.get("/static/x/nothing.js").status_code == 404


def test_modules_are_small() -> None:
    own = [path for path in STATIC.rglob("*.js") if "vendor" not in path.parts]
    assert own
    assert [path.name for path in own if len(path.read_text().splitlines()) > 300] == []


def test_vendored_files_come_with_their_licence_and_version() -> None:
    told = (STATIC / "vendor" / "README.md").read_text()
    for file in (STATIC / "vendor").glob("*.mjs"):
        assert f"`{file.name}`" in told
        assert file.with_suffix(".LICENSE").exists()


def test_a_stampede_runs_and_tells(client: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    urls = generator(monkeypatch, SAYS_RESULT)
    started = client.post("/v1/demo/stampede", json=WISH, headers={"Host": "elsewhere.example"})
    assert started.status_code == 202
    told = finished(client, started.json()["id"])
    assert told["state"] == "done"
    assert told["result"] == RESULT
    assert urls == [str(client.base_url).rstrip("/")], "aimed at its own socket, whatever Host says"


def test_one_stampede_at_a_time_and_it_ends_with_the_gateway(
    fake: FakeGateway, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    alive = tmp_path / "alive"
    generator(
        monkeypatch,
        f"import pathlib,os,time;pathlib.Path({str(alive)!r}).write_text(str(os.getpid()));time.sleep(60)",
    )
    with Running(fake) as running, httpx.Client(base_url=running.url) as client:
        first = client.post("/v1/demo/stampede", json=WISH)
        second = client.post("/v1/demo/stampede", json=WISH)
        assert (first.status_code, second.status_code) == (202, 429)
        assert second.headers["retry-after"]
        while not (alive.exists() and alive.read_text()):
            assert client.get(first.headers["location"]).json()["state"] == "running"
    assert not Path(f"/proc/{alive.read_text()}").exists()


@pytest.mark.parametrize(
    "wish", [{"buyers": 5001}, {"buyers": 0}, {"seats": 0}, {"gate": "maybe"}, {"url": "x"}]
)
def test_a_stampede_has_bounds(client: httpx.Client, wish: dict[str, object]) -> None:
    assert client.post("/v1/demo/stampede", json=wish).status_code == 422


def test_a_stampede_that_fails_says_why(client: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    generator(monkeypatch, 'print(\'{"error": "The engines are away."}\'); raise SystemExit(1)')
    told = finished(client, client.post("/v1/demo/stampede", json=WISH).json()["id"])
    assert (told["state"], told["message"]) == ("failed", "The engines are away.")
    generator(monkeypatch, "raise SystemExit(1)")
    told = finished(client, client.post("/v1/demo/stampede", json=WISH).json()["id"])
    assert "without a result" in str(told["message"])


def test_outside_a_demo_there_is_no_stampede(client: httpx.Client, fake: FakeGateway) -> None:
    fake.demo = False
    assert client.post("/v1/demo/stampede", json=WISH).status_code == 404
    assert '"demo": false' in client.get("/e/demo").text


def test_other_sites_cannot_start_a_stampede(client: httpx.Client) -> None:
    answer = client.post("/v1/demo/stampede", json=WISH, headers={"Sec-Fetch-Site": "cross-site"})
    assert answer.status_code == 403


def test_the_command_is_the_load_generators(fake: FakeGateway) -> None:
    argv = demo.command(demo.StampedeWish(buyers=7, seats=2, gate="off"), "http://127.0.0.1:1")
    assert argv[1:] == [
        *("-m", "onsale", "stampede", "--buyers", "7", "--seats", "2", "--gate", "off"),
        *("--url", "http://127.0.0.1:1", "--json"),
    ]
