"""Faults in how a relay shares itself among subscribers, and in what it asks Postgres over and over."""

from __future__ import annotations

from tests.mutants.mutant import In, Kind, Mutant

FAIR = "tests/notifier/test_relay_fairness.py"
PLANS = "tests/store/subscribers/test_plans.py"
relay = In("notifier/relay.py")
lane = In("notifier/lane.py")
lanes = In("store/subscribers/lanes.py")

MUTANTS: list[Mutant] = [
    relay(
        Kind.BOUND,
        "who does not answer has only so many lanes",
        "rooms = self._rooms(running, LANES_OF_ONE_MAX)",
        "rooms = self._rooms(running, LANES_MAX)",
        f"{FAIR}::test_who_does_not_answer_has_its_lanes_and_the_others_go_on",
        more=(("uuid.uuid4(), free, LANES_OF_ONE_MAX, rooms", "uuid.uuid4(), free, LANES_MAX, rooms"),),
    ),
    relay(
        Kind.BOUND,
        "who fails is asked about one event at a time",
        "for subscriber, failures in self._failures.items() if failures}",
        "for subscriber, failures in self._failures.items() if failures < 0}",
        f"{FAIR}::test_who_fails_is_asked_about_one_event_at_a_time",
    ),
    relay(
        Kind.BOUND,
        "an event that cannot be told stops no other",
        "        except Exception:  # of this lane; the others go on",
        "        except ZeroDivisionError:  # of this lane; the others go on",
        f"{FAIR}::test_an_event_that_cannot_be_told_for_a_fault_of_ours_stops_no_other",
    ),
    lane(
        Kind.BOUND,
        "an event that cannot be told is not begun anew at once",
        "            self._pause_seconds = BROKEN_SECONDS\n",
        "",
        f"{FAIR}::test_an_event_that_cannot_be_told_for_a_fault_of_ours_stops_no_other",
    ),
    lanes(
        Kind.BOUND,
        "lanes are found without reading the outbox",
        "     AND (SELECT true FROM outbox o WHERE o.event_id = p.event_id AND o.number > p.number\n"
        "           ORDER BY o.number LIMIT 1)\n",
        "     AND (SELECT count(*) > 0 FROM outbox o\n"
        "           WHERE o.event_id = p.event_id AND o.number > p.number)\n",
        f"{PLANS}::test_lanes_with_something_to_tell_are_found_by_a_look_for_each",
    ),
]
