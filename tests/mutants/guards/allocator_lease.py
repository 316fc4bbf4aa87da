"""Faults in how the right to allocate changes hands."""

from __future__ import annotations

from tests.mutants.mutant import In, Kind, Mutant

LEASE = "tests/allocator/test_lease.py"
RELIEVED = "tests/allocator/test_relieved.py"
lease = In("allocator/lease.py")
loop = In("allocator/loop.py")

MUTANTS: list[Mutant] = [
    lease(
        Kind.TAKEOVER,
        "taking over ends the old owner's backend",
        "            conn.execute(END_BACKEND, (event_id, seen.owner))\n",
        "            pass\n",
        f"{LEASE}::test_an_owner_paused_before_its_commit_is_ended_and_its_batch_is_not_true",
        f"{LEASE}::test_an_owner_stopped_inside_copy_is_ended_and_its_batch_is_not_true",
    ),
    lease(
        Kind.TAKEOVER,
        "only the backend of the owner that was looked at is ended",
        "lease.event_id = %s AND lease.owner = %s AND",
        "lease.event_id = %s AND (lease.owner = %s OR true) AND",
        f"{RELIEVED}::test_a_standby_that_was_too_late_does_not_end_the_one_that_was_quicker",
        f"{RELIEVED}::test_an_owner_that_was_relieved_and_asks_what_became_of_its_batch_disturbs_nobody",
    ),
    lease(
        Kind.TAKEOVER,
        "a backend that only has the old one's number is not ended",
        "ON backend.pid = lease.backend_pid AND backend.backend_start = lease.backend_start\n"
        " WHERE lease.event_id",
        "ON backend.pid = lease.backend_pid\n WHERE lease.event_id",
        f"{RELIEVED}::test_a_backend_that_has_the_number_of_one_that_is_gone_is_left_alone",
    ),
    lease(
        Kind.TAKEOVER,
        "nobody ends their own backend",
        " AND backend.pid <> pg_backend_pid()",
        "",
        f"{RELIEVED}::test_who_owned_the_event_on_this_very_connection_may_take_it_again",
    ),
    lease(
        Kind.TAKEOVER,
        "the epoch is raised only where it is the one that was seen",
        "WHERE event_id = %s AND epoch = %s RETURNING epoch",
        "WHERE event_id = %s AND (epoch = %s OR true) RETURNING epoch",
        f"{LEASE}::test_of_standbys_that_saw_the_same_only_the_first_takes",
    ),
    lease(
        Kind.TAKEOVER,
        "taking over raises the epoch",
        "SET epoch = epoch + 1, owner",
        "SET epoch = epoch, owner",
        f"{LEASE}::test_of_many_standbys_at_once_exactly_one_takes",
    ),
    lease(
        Kind.TAKEOVER,
        "taking over puts a new owner into the cursor row",
        "SET epoch = epoch + 1, owner = %s",
        "SET epoch = epoch + 1, owner = coalesce(owner, %s)",
        f"{LEASE}::test_of_standbys_that_saw_the_same_only_the_first_takes",
    ),
    lease(
        Kind.TAKEOVER,
        "an event that was given back is free",
        "       lease.owner IS NULL\n       OR lease.renewed_at",
        "       lease.renewed_at",
        f"{LEASE}::test_an_owner_that_gives_back_is_relieved_at_once_and_its_backend_is_left_alone",
    ),
    lease(
        Kind.TAKEOVER,
        "an owner that does not renew may be relieved",
        "       OR lease.renewed_at < clock_timestamp() - make_interval(secs => %s)",
        "       OR lease.renewed_at < clock_timestamp() - 1e6 * make_interval(secs => %s)",
        f"{LEASE}::test_an_owner_that_has_not_renewed_for_long_may_be_relieved_and_renewing_keeps_it",
    ),
    lease(
        Kind.TAKEOVER,
        "an owner whose backend is gone is relieved at once",
        "WHERE backend.pid = lease.backend_pid AND backend.backend_start = lease.backend_start)",
        "WHERE backend.pid = lease.backend_pid AND backend.backend_start = lease.backend_start OR true)",
        f"{LEASE}::test_an_owner_whose_backend_was_killed_may_be_relieved_at_once",
    ),
    lease(
        Kind.TAKEOVER,
        "a backend that only has the owner's number keeps no event",
        "WHERE backend.pid = lease.backend_pid AND backend.backend_start = lease.backend_start)",
        "WHERE backend.pid = lease.backend_pid)",
        f"{RELIEVED}::test_a_backend_that_has_the_number_of_one_that_is_gone_is_left_alone",
    ),
    lease(
        Kind.TAKEOVER,
        "renewing keeps only what is still owned",
        "lease.event_id = ANY (%s) AND lease.owner = ANY (%s)",
        "lease.event_id = ANY (%s) AND (lease.owner = ANY (%s) OR true)",
        f"{LEASE}::test_renewing_what_is_owned_no_more_keeps_nothing",
    ),
    lease(
        Kind.TAKEOVER,
        "giving back gives back only what is still owned",
        'lease.event_id = %s AND lease.owner = %s\n"""\n\nGIVE_ALL_BACK',
        'lease.event_id = %s AND (lease.owner = %s OR true)\n"""\n\nGIVE_ALL_BACK',
        f"{LEASE}::test_giving_back_what_is_owned_no_more_gives_nothing_back",
    ),
    In("allocator/worker.py")(
        Kind.TAKEOVER,
        "an owner whose loop is stuck is not renewed",
        "return self.owned is not None and time.monotonic() - self._turned_at < STUCK_SECONDS",
        "return self.owned is not None",
        f"{RELIEVED}::test_an_owner_whose_loop_has_not_turned_for_long_does_not_attend",
    ),
]
