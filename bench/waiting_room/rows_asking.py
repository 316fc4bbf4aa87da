"""Rows over HTTP: joining, and the document that tells everybody how the line stands."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from statistics import median
from typing import Final
from urllib.parse import urlsplit

import psycopg

from bench.asker import Answered, Asker, asker
from bench.effort import Effort
from bench.generator import mint
from bench.orders import percentile
from bench.processes import cpu_by_name, spent
from bench.report import Report, Say, at_least, for_the_record
from bench.target import StageEvent, Target, throwaway_target, wait_known
from bench.waiting_room.crowds import begin_sale, make_room
from store.room.words import Proof, RoomTerms

CONNECTIONS: Final = 400
ROUNDS: Final = 5
JOINS: Final = 10_000
"""Of each round; nobody joins twice."""
JOINS_REACH: Final = 5_000
DOCUMENTS: Final = 30_000
DOCUMENTS_REACH: Final = 10_000
SERVER: Final = ("gateway-1", "postgres")
FROM_ONE_ADDRESS: Final = {"ONSALE_JOINS_PER_ADDRESS_MINUTE": "1000000"}
"""All joins of this machine come from there; the bound is kept count of all the same."""
COUNTED: Final = "SELECT count(*), count(DISTINCT buyer) FROM place WHERE event_id = %s"


def measure_joins(report: Report, say: Say, effort: Effort) -> None:
    """`joins`: each of another buyer, answered when its place is on disk; half in the lobby, half in line."""
    with throwaway_target(env=FROM_ONE_ADDRESS) as (target, pid_of):
        _joins(report, say, effort, target, pid_of)


def _joins(report: Report, say: Say, effort: Effort, target: Target, pid_of: Callable[[str], int]) -> None:
    terms = RoomTerms(pace=1, proof=Proof.OFF)
    event = make_room(target.database_url, terms)
    lobby: list[float] = []
    line: list[float] = []
    cpu: list[float] = []
    latencies: list[int] = []
    rounds, lawful = effort.rounds(ROUNDS), True
    buyers = iter(mint(target.token_secret, 2 * JOINS * (rounds + 1), event.slug))
    with asker(target.base_url, CONNECTIONS) as crowd:
        for what, rates in (("lobby", lobby), ("line", line)):
            if what == "line":
                begin_sale(target.database_url, event)
                wait_known(target, event)
            for number in range(rounds + 1):
                say(f"buyers join the {what}: round {number} of {rounds}")
                requests = [join_request(target, event, next(buyers)[1]) for _ in range(JOINS)]
                before = cpu_by_name(pid_of, SERVER)
                answered = crowd.ask(requests)
                lawful &= answered.statuses == {"200": JOINS}
                if number:
                    rates.append(JOINS / answered.seconds)
                    cpu.append(sum(spent(before, cpu_by_name(pid_of, SERVER)).values()) / JOINS * 1e6)
                    latencies += answered.latencies_ns
    joined = 2 * JOINS * (rounds + 1)
    with psycopg.connect(target.database_url) as conn:
        lawful &= conn.execute(COUNTED, (event.id,)).fetchone() == (joined, joined)
    report.rows += [
        at_least("joins", lobby, "joins/s", JOINS_REACH, lawful=lawful, note="in the lobby"),
        at_least("joins_in_line", line, "joins/s", JOINS_REACH, lawful=lawful, note="with a position each"),
        for_the_record("joins_p99", [percentile(sorted(latencies), 0.99) / 1e6], "ms"),
        for_the_record("server_cpu_per_join", cpu, "µs"),
    ]


def measure_documents(report: Report, say: Say, effort: Effort) -> None:
    """`status_document`: GET …/room, while the serving number moves."""
    with throwaway_target() as (target, _):
        event = make_room(target.database_url, RoomTerms(pace=600))
        begin_sale(target.database_url, event)
        wait_known(target, event)
        rates = []
        rounds = effort.rounds(ROUNDS)
        with asker(target.base_url, CONNECTIONS) as crowd:
            for number in range(rounds + 1):
                say(f"the status document is asked for: round {number} of {rounds}")
                answered = _documents(target, event, crowd)
                if number:
                    rates.append(DOCUMENTS / answered.seconds)
        lawful = answered.statuses.keys() <= {"200", "304"}
    note = f"answers: {', '.join(f'{status} {count:,}' for status, count in answered.statuses.items())}"
    report.rows.append(
        at_least("status_document", rates, "documents/s", DOCUMENTS_REACH, lawful=lawful, note=note)
    )
    report.details["status_document"] = {"median": round(median(rates))}


def _documents(target: Target, event: StageEvent, crowd: Asker) -> Answered:
    plain = _request(target, "GET", f"/v1/events/{event.slug}/room")
    return crowd.ask([plain], DOCUMENTS)


def join_request(target: Target, event: StageEvent, token: str) -> str:
    """A buyer's join, as it is sent."""
    head = (f"Authorization: Bearer {token}", "Content-Type: application/json")
    return _request(target, "POST", f"/v1/events/{event.slug}/room/join", head, "{}")


def _request(target: Target, method: str, path: str, head: Iterable[str] = (), body: str = "") -> str:
    lines = [f"{method} {path} HTTP/1.1", f"Host: {urlsplit(target.base_url).netloc}", *head]
    lines += [f"Content-Length: {len(body)}"] if body else []
    return "\r\n".join([*lines, "", body])
