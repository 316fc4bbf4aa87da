"""Dashboards and alert rules ask for what a running onsale tells, and every alert fires when it should and
not when it should not.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from onsale.processes import Stack, throwaway_stack
from store import events
from store.words import EventState
from tests.conftest import Rig, engines_beside
from tests.deploy.alert_cases import CASES
from tests.deploy.promql import Call, Series, evaluate, labels_named, read, selectors
from tests.deploy.selling import GALA, Buyer, call, make_sale, until

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"
RUNBOOK = DEPLOY.parent / "docs/runbook.md"
ALERTS = DEPLOY / "prometheus/alerts.yml"
RULES = [rule for group in yaml.safe_load(ALERTS.read_text())["groups"] for rule in group["rules"]]
DASHBOARDS = sorted((DEPLOY / "grafana/dashboards").glob("*.json"))
PROMETHEUS = yaml.safe_load((DEPLOY / "prometheus/prometheus.yml").read_text())
OF_PROMETHEUS = {"up": {"job", "instance"}}
"""What it tells of its own targets; each series of theirs has these two labels as well."""
VARIABLES = {"$__rate_interval": "1m", "$event": ".*"}
BY_OTHERS = """
-- What hosts and owners write about themselves about once a second or half a minute, where they did not yet.
INSERT INTO fleet_host (name, slots, process, version, memory_bytes, memory_bytes_max, load)
VALUES ('here', 4, 'm:1', '1', 1, 2, 0.5) ON CONFLICT DO NOTHING;
INSERT INTO event_load (event_id, process, epoch, batch_no, decided, decided_per_second, arrived_per_second,
                        undecided, latency_ms_p50, latency_ms_p99)
SELECT id, 'm:1', 1, 1, 1, 1, 1, 0, 1, 2 FROM event ON CONFLICT DO NOTHING;
INSERT INTO event_balance (event_id, findings) SELECT id, 0 FROM event ON CONFLICT DO NOTHING
"""


@pytest.fixture(scope="module")
def stack(rig: Rig) -> Iterator[Stack]:
    with (
        engines_beside(rig) as urls,
        throwaway_stack(
            gateways=2, allocators=1, payments=True, chores=True,
            database_url=urls.database_url, redis_url=urls.redis_url,
        ) as running,
    ):  # fmt: skip
        yield running


@pytest.fixture(scope="module")
def told(stack: Stack) -> dict[str, list[dict[str, str]]]:
    """Name of a sample → the labels of each, of all that Prometheus would be told of a sale under way."""
    make_sale(stack.urls.database_url, GALA)
    buyers = [
        Buyer(base_url, stack.token_secret, name, GALA)
        for base_url, name in zip(stack.base_urls, ("ann", "bob"), strict=True)
    ]
    for buyer in buyers:
        buyer.join()
    with psycopg.connect(stack.urls.database_url, autocommit=True) as conn:
        events.set_state(conn, GALA, EventState.OPEN)
        for buyer in buyers:
            buyer.begin()
        buyers[0].pay(buyers[0].hold())
        buyers[1].hold()
        conn.execute(BY_OTHERS)
    samples: dict[str, list[dict[str, str]]] = {}

    def scrape() -> bool:
        samples.clear()
        addresses = [f"{base_url}/metrics" for base_url in stack.base_urls]
        for address in [*addresses, f"{stack.base_url}/v1/operator/metrics"]:
            reply = call("GET", address, Authorization=f"Bearer {stack.operator_key}")
            assert reply.status == 200, reply
            for family in text_string_to_metric_families(reply.body):
                for sample in family.samples:
                    samples.setdefault(sample.name, []).append(sample.labels)
        return {"onsale_event_undecided", "onsale_gateway_notices_total"} <= set(samples)

    until(scrape, "everything was told once")  # numbers of Postgres are kept for some seconds
    return samples


def queries() -> Iterator[tuple[str, str]]:
    """(where it stands, the query) of all dashboards and rules."""
    for rule in RULES:
        yield rule["alert"], rule["expr"]
    for path in DASHBOARDS:
        dashboard = json.loads(path.read_text())
        for panel in dashboard["panels"]:
            for target in panel.get("targets", ()):
                yield f"{path.stem}: {panel['title']}", target["expr"]
        for one in dashboard["annotations"]["list"]:
            yield f"{path.stem}: {one['name']}", one["expr"]


ALL = list(queries())


def parsed(query: str) -> Any:
    for name, value in VARIABLES.items():
        query = query.replace(name, value)
    assert "$" not in query, "a variable that the dashboard does not have"
    return read(query)


def test_every_query_names_numbers_and_labels_that_a_running_onsale_tells(told):
    wrong = [f"{where}: {what}" for where, query in ALL for what in _not_told(parsed(query), told)]
    assert wrong == []


def _not_told(tree: Any, told: dict[str, list[dict[str, str]]]) -> Iterator[str]:
    for selector in selectors(tree):
        labels = _labels_of(selector.name, told)
        if not labels:
            yield f"{selector.name} is not told"
        for label, sign, value in selector.matchers:
            values = {one.get(label) for one in told.get(selector.name, [{label: value}])}
            if label not in labels:
                yield f"{selector.name} has no {label}"
            elif sign == "=" and value not in values:
                yield f"{selector.name} has no {label}={value}"
    for label, part in labels_named(tree):
        inside = part.arguments if isinstance(part, Call) else [part.left, part.right]
        for selector in [one for each in inside for one in selectors(each)]:
            if label not in _labels_of(selector.name, told):
                yield f"{selector.name} has no {label}, by which it is grouped or matched"


def _labels_of(name: str, told: dict[str, list[dict[str, str]]]) -> set[str]:
    if name in OF_PROMETHEUS:
        return OF_PROMETHEUS[name]
    if name not in told:
        return set()
    return {label for labels in told[name] for label in labels} | {"job", "instance"}


def test_legends_name_labels_that_their_query_keeps(told):
    for path in DASHBOARDS:
        for panel in json.loads(path.read_text())["panels"]:
            for target in panel.get("targets", ()):
                named = set(re.findall(r"\{\{(\w+)\}\}", target["legendFormat"]))
                tree = parsed(target["expr"])
                known = {label for one in selectors(tree) for label in _labels_of(one.name, told)}
                grouped = [set(part.by) for _, part in labels_named(tree) if isinstance(part, Call)]
                assert named <= (grouped[0] if grouped else known), (panel["title"], target)


def test_the_dashboards_variable_asks_for_what_is_told(told):
    for path in DASHBOARDS:
        for variable in json.loads(path.read_text())["templating"]["list"]:
            asked = re.fullmatch(r"label_values\((\w+), (\w+)\)", variable["definition"])
            assert asked is not None
            assert asked[2] in _labels_of(asked[1], told)


def test_panels_do_not_lie_upon_each_other():
    for path in DASHBOARDS:
        panels = json.loads(path.read_text())["panels"]
        cells = [
            (x, y)
            for panel in panels
            for at in [panel["gridPos"]]
            for x in range(at["x"], at["x"] + at["w"])
            for y in range(at["y"], at["y"] + at["h"])
        ]
        assert len(cells) == len(set(cells))
        assert max(x for x, _ in cells) < 24
        assert len({panel["id"] for panel in panels}) == len(panels)


def _series(case: dict[str, list[float]]) -> Series:
    found = {}
    for written, values in case.items():
        [family] = text_string_to_metric_families(f"{written} 0\n")
        [sample] = family.samples
        found[sample.name, frozenset(sample.labels.items())] = values
    return found


@pytest.mark.parametrize("rule", RULES, ids=[rule["alert"] for rule in RULES])
def test_every_alert_fires_when_it_should_and_not_when_it_should_not(rule):
    fires, quiet = CASES[rule["alert"]]
    tree = read(rule["expr"])
    assert evaluate(tree, _series(fires)), "it fires"
    assert not evaluate(tree, _series(quiet)), "it keeps quiet"


@pytest.mark.parametrize("rule", RULES, ids=[rule["alert"] for rule in RULES])
def test_every_alert_says_what_is_wrong_what_to_do_and_where_that_is_told(rule):
    said = rule["annotations"]
    assert rule["labels"]["severity"] in ("page", "ticket")
    assert said["summary"].endswith(".")
    assert said["do"]
    page, _, section = said["runbook"].partition("#")
    assert page == "docs/runbook.md"
    headings = re.findall(r"^#+ (.+)$", RUNBOOK.read_text(), re.MULTILINE)
    assert section in {re.sub(r"[^a-z0-9 -]", "", one.lower()).replace(" ", "-") for one in headings}
    named = set(re.findall(r"\$labels\.(\w+)", said["summary"] + said["do"]))
    assert named <= {label for case in CASES[rule["alert"]] for one in _series(case) for label, _ in one[1]}


def test_there_is_one_case_for_each_alert():
    assert sorted(CASES) == sorted({rule["alert"] for rule in RULES})
    assert len(RULES) == len(CASES)


def test_prometheus_asks_addresses_that_a_gateway_answers(stack):
    paths = {job["metrics_path"] for job in PROMETHEUS["scrape_configs"]}
    for path in paths:
        reply = call("GET", stack.base_url + path, Authorization=f"Bearer {stack.operator_key}")
        assert reply.status == 200, path
    jobs = {job["job_name"] for job in PROMETHEUS["scrape_configs"]}
    assert jobs == {"onsale", "onsale-gateway"}
    assert {value for _, query in ALL for value in re.findall(r'job="([^"]+)"', query)} <= jobs


def test_promtool_agrees(tmp_path):
    """Prometheus' own checker: of rules, settings, and of each case."""
    promtool = shutil.which("promtool")
    if promtool is None:
        pytest.skip("promtool is not installed: rules and cases are judged by tests/deploy/promql.py alone")
    rules = tmp_path / "alerts.yml"
    rules.write_text(re.sub(r"^ +for: .+\n", "", ALERTS.read_text(), flags=re.MULTILINE))
    tests = []
    for rule in RULES:
        for case, fires in zip(CASES[rule["alert"]], (True, False), strict=True):
            steps = max(len(values) for values in case.values()) if case else 1
            series = [
                {"series": name, "values": " ".join(map(str, values * (steps if len(values) == 1 else 1)))}
                for name, values in case.items()
            ]
            query = f"count({rule['expr']}) or vector(0)"
            asked = f"({query}) > bool 0"
            tests.append({
                "interval": "15s", "input_series": series,
                "promql_expr_test": [{
                    "expr": asked, "eval_time": f"{15 * (steps - 1)}s",
                    "exp_samples": [{"labels": "{}", "value": int(fires)}],
                }],
            })  # fmt: skip
    judged = tmp_path / "tests.yml"
    whole = {"rule_files": [str(rules)], "evaluation_interval": "15s", "tests": tests}
    judged.write_text(yaml.safe_dump(whole))
    for arguments in (["check", "rules", ALERTS], ["test", "rules", judged]):
        ran = subprocess.run([promtool, *map(str, arguments)], capture_output=True, text=True, timeout=120)
        assert ran.returncode == 0, ran.stdout + ran.stderr
