"""Faults in what operators are told of waiting rooms: in numbers, and by the doctor."""

from __future__ import annotations

from tests.mutants.mutant import In, Kind, Mutant

METRICS = "tests/gateway/room/test_metrics.py"
BESIDE = "tests/gateway/test_operator_beside.py"
ROOMS = "tests/gateway/test_operator_beside_rooms.py"
metrics = In("gateway/room/metrics.py")
acting = In("gateway/room/acting.py")
beside = In("gateway/operators/beside.py")
numbers = In("store/room/numbers.py")
findings = In("onsale/room_findings.py")

MUTANTS: list[Mutant] = [
    metrics(
        Kind.BOUND,
        "however many codes there are, joins refused have a bounded number of labels",
        "for code in map(str, REFUSALS)}",
        "for code in room.joins.refused}",
        f"{METRICS}::test_each_refusal_of_a_join_is_counted_once_by_its_code",
    ),
    acting(
        Kind.COUNT,
        "a join that is refused at once is counted",
        "    except OnsaleError as error:\n        room.joins.was_refused(error)\n        raise\n",
        "    except OnsaleError:\n        raise\n",
        f"{METRICS}::test_each_refusal_of_a_join_is_counted_once_by_its_code",
    ),
    acting(
        Kind.COUNT,
        "a join that is refused later is counted",
        "        if error is not None:\n            room.joins.was_refused(error)\n",
        "",
        f"{METRICS}::test_each_refusal_of_a_join_is_counted_once_by_its_code",
    ),
    beside(
        Kind.BOUND,
        "reading numbers takes a small part of Postgres' time",
        "max(KEPT_SECONDS, REST * self._took)",
        "KEPT_SECONDS",
        f"{BESIDE}::test_a_reading_that_takes_long_is_kept_longer",
    ),
    numbers(
        Kind.CONDITION,
        "no alarm is given of a line that is full inside",
        " AND reason IS DISTINCT FROM 'full_inside'\n",
        "\n",
        f"{ROOMS}::test_a_line_that_stands_still_is_seen_and_one_that_should_is_not",
    ),
    numbers(
        Kind.CONDITION,
        "no alarm is given of a line that the organiser paused",
        "event.state = 'open' AND admission = 'running'",
        "event.state = 'open'",
        f"{ROOMS}::test_a_line_that_stands_still_is_seen_and_one_that_should_is_not",
    ),
    findings(
        Kind.CHECKER,
        "a gateway of waiting rooms without a key is found",
        "        if not settings.key:\n",
        "        if settings.key is None:\n",
        "tests/onsale/test_room_findings.py::test_a_gateway_without_a_key_is_found_where_an_event_has_a_room",
    ),
]
