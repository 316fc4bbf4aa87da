"""Faults in how events that share their connections are kept apart."""

from __future__ import annotations

from tests.mutants.mutant import In, Kind, Mutant

COLD = "tests/allocator/test_cold.py"
owning = In("allocator/cold/owning.py")

MUTANTS: list[Mutant] = [
    owning(
        Kind.FENCE,
        "one that is fenced is let go alone",
        "        except Fenced:\n            self._fenced(event)\n",
        "        except Fenced:\n            raise\n",
        f"{COLD}::test_one_that_is_fenced_goes_back_to_standing_by_and_the_others_go_on",
    ),
    owning(
        Kind.HALVING,
        "one whose loop breaks is let go alone",
        '            log.exception("%s: ALERT: the allocator stopped; loading anew", slug)\n'
        "            self._rest(conn, event, began)\n",
        '            log.exception("%s: ALERT: the allocator stopped; loading anew", slug)\n'
        "            raise\n",
        f"{COLD}::test_one_whose_loop_breaks_is_loaded_anew_and_the_others_go_on",
    ),
    In("allocator/cold/loading.py")(
        Kind.HALVING,
        "one that cannot be loaded waits behind the others",
        "                self._waiting.put(event)  # behind the others\n",
        "                continue\n",
        f"{COLD}::test_one_that_cannot_be_loaded_in_time_waits_behind_the_others",
    ),
    In("allocator/cold/standing_by.py")(
        Kind.TAKEOVER,
        "events that share are owned through the connection that decides them",
        "self._worker, through)",
        "self._worker, None)",
        f"{COLD}::test_with_the_connection_all_are_lost_and_all_are_taken_again",
        f"{COLD}::test_somebody_who_takes_one_from_an_owner_that_is_stuck_ends_the_connection_of_all",
    ),
    In("allocator/cold/rooms.py")(
        Kind.TAKEOVER,
        "the keeper of rooms of events that share goes on whatever fails",
        'log.exception("ALERT: the keeper of rooms of events that share stopped; beginning again")',
        "raise",
        "tests/allocator/test_cold_rooms.py"
        "::test_whatever_fails_beside_a_step_is_an_alert_and_the_rooms_are_kept_on",
    ),
    In("allocator/lease.py")(
        Kind.TAKEOVER,
        "of many events only those are told of that moved or are free",
        " WHERE stands.free OR event_cursor.batch_no <> known.batch_no\n",
        "",
        f"{COLD}::test_one_query_tells_of_all_leases_and_only_what_moved_is_told",
    ),
]
