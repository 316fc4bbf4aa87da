"""Faults in a batch's transaction but for its statements: counts, locks, lost replies."""

from __future__ import annotations

from tests.mutants.mutant import In, Kind, Mutant

LOOP = "tests/allocator/test_loop.py"
FAULTS = "tests/allocator/test_loop_faults.py"
RUNS_OUT = "tests/allocator/test_runs_out.py"
VERIFY = "tests/allocator/test_verify.py"
CONTRADICT = "tests/allocator/test_contradictions.py"
IN_PIECES = "tests/allocator/test_pieces.py::test_a_batch_in_pieces_is_in_the_ledger_once_and_verifies"
MOVING = "tests/allocator/test_moving_for_real.py"
LOCKS = "tests/allocator/test_lock_order.py"
DIES_UNSEEN = f"{FAULTS}::test_a_commit_that_never_arrived_is_decided_again_when_its_backend_is_gone"
truth = In("allocator/truth.py")
lease = In("allocator/lease.py")

MUTANTS: list[Mutant] = [
    truth(
        Kind.FENCE,
        "a fence that finds no row ends the owner",
        "            self.rollback()\n            raise Fenced\n        rows",
        "            clock = (after_batch,)\n        rows",
        f"{LOOP}::test_an_owner_that_lost_the_event_writes_nothing_more",
    ),
    truth(
        Kind.FACTS,
        "facts are consumed by the transaction that decides by them",
        "        rows = sorted(facts.fetchall())",
        "        self._conn.commit()\n        rows = sorted(facts.fetchall())",
        f"{FAULTS}::test_a_lock_that_is_not_had_in_time_says_nothing_against_a_request",
    ),
    truth(
        Kind.FENCE,
        "a batch is one transaction",
        '                self._conn.execute("BEGIN")\n',
        "",
        f"{FAULTS}::test_law_1_fires_as_an_alert_and_only_the_request_it_is_about_is_invalid",
    ),
    truth(
        Kind.LEDGER,
        "each row of a batch in pieces is sent once",
        "rows = decided.rows[sent:]",
        "rows = decided.rows",
        IN_PIECES,
    ),
    truth(
        Kind.LEDGER,
        "rows are numbered through a batch in pieces",
        "copy_lines(self._event_id, batch_no, rows, sent)",
        "copy_lines(self._event_id, batch_no, rows, 0)",
        IN_PIECES,
    ),
    truth(
        Kind.LEDGER,
        "a batch's hash covers all of its pieces",
        "                    digests.append(their_digests)\n",
        "                    digests = [their_digests]\n",
        IN_PIECES,
    ),
    truth(
        Kind.COUNT,
        "fewer rows than decided roll the batch back",
        "if cursor.rowcount != count:",
        "if cursor.rowcount > count:",
        f"{FAULTS}::test_a_seat_blocked_behind_the_allocators_back_is_answered_from_the_truth",
    ),
    truth(
        Kind.COUNT,
        "holds that ran out are counted",
        'sql.EXPIRE_HOLDS, given), len(expired), "holds',
        'sql.EXPIRE_HOLDS, given), -1, "holds',
        f"{RUNS_OUT}::test_a_hold_that_the_table_gives_longer_does_not_run_out",
        f"{CONTRADICT}::test_places_paid_for_in_the_moment_they_run_out_stay_paid_for",
        more=(("if cursor.rowcount != count:", "if count >= 0 and cursor.rowcount != count:"),),
    ),
    truth(
        Kind.COUNT,
        "freed seats are counted",
        'sql.FREE_SEATS, given), len(pairs), "seats',
        'sql.FREE_SEATS, given), -1, "seats',
        f"{RUNS_OUT}::test_a_hold_that_ran_out_frees_no_seat_that_names_another",
        more=(("if cursor.rowcount != count:", "if count >= 0 and cursor.rowcount != count:"),),
    ),
    truth(
        Kind.COUNT,
        "freed hold_seat rows are counted",
        'sql.FREE_HOLD_SEATS, given), len(pairs), "hold_seat',
        'sql.FREE_HOLD_SEATS, given), -1, "hold_seat',
        f"{CONTRADICT}::test_a_seat_that_another_hold_keeps_is_not_made_available",
        more=(("if cursor.rowcount != count:", "if count >= 0 and cursor.rowcount != count:"),),
    ),
    truth(
        Kind.COUNT,
        "freed hold_area rows are counted",
        'sql.FREE_HOLD_AREAS, given), len(places), "hold_area',
        'sql.FREE_HOLD_AREAS, given), -1, "hold_area',
        f"{CONTRADICT}::test_places_that_no_row_keeps_are_not_counted_free",
        more=(("if cursor.rowcount != count:", "if count >= 0 and cursor.rowcount != count:"),),
    ),
    truth(
        Kind.COUNT,
        "claimed seats are counted",
        'sql.CLAIM_SEATS, seats), len(pairs), "seats',
        'sql.CLAIM_SEATS, seats), -1, "seats',
        f"{FAULTS}::test_a_seat_blocked_behind_the_allocators_back_is_answered_from_the_truth",
        more=(("if cursor.rowcount != count:", "if count >= 0 and cursor.rowcount != count:"),),
    ),
    truth(
        Kind.COUNT,
        "moved area counters are counted",
        'given), len(areas), "area counters"',
        'given), -1, "area counters"',
        f"{FAULTS}::test_places_blocked_behind_the_allocators_back_are_answered_from_the_truth_without_an_alert",
        more=(("if cursor.rowcount != count:", "if count >= 0 and cursor.rowcount != count:"),),
    ),
    truth(
        Kind.CONSTRAINT,
        "a constraint that fires is an alert",
        '            log.error("ALERT: a constraint refused batch %d of event %d: %s", batch_no,'
        " self._event_id, error)\n",
        "",
        f"{FAULTS}::test_law_1_fires_as_an_alert_and_only_the_request_it_is_about_is_invalid",
    ),
    truth(
        Kind.HALVING,
        "a lock not had in time says nothing against a request",
        "_MAY_RETRY = (pg.DeadlockDetected, pg.SerializationFailure)",
        "_MAY_RETRY = (pg.DeadlockDetected, pg.SerializationFailure, pg.LockNotAvailable)",
        f"{FAULTS}::test_a_lock_that_is_not_had_in_time_says_nothing_against_a_request",
    ),
    truth(
        Kind.LOCK_ORDER,
        "a deadlock is decided again at once",
        "_MAY_RETRY = (pg.DeadlockDetected, pg.SerializationFailure)",
        "_MAY_RETRY = (pg.SerializationFailure,)",
        f"{LOCKS}::test_a_deadlock_with_somebody_who_keeps_no_order_is_decided_again",
    ),
    truth(
        Kind.COMMIT,
        "after a lost reply the old backend is ended before the truth is read",
        "            self._conn.execute(lease.END_BACKEND, (self._event_id, self._owned.owner))\n",
        "",
        DIES_UNSEEN,
    ),
    truth(
        Kind.COMMIT,
        "after a lost reply the lease names the new backend",
        "            self._conn.execute(sql.MOVE_LEASE, (self._event_id, self._owned.owner))\n",
        "",
        f"{FAULTS}::test_the_lease_names_the_new_backend_after_a_lost_reply",
    ),
    truth(
        Kind.COMMIT,
        "after a lost reply an owner that lost the event is fenced",
        "        if (epoch, owner) != self._owned:\n            raise Fenced\n",
        "",
        f"{FAULTS}::test_a_lost_reply_of_an_owner_that_lost_the_event_is_fenced",
    ),
    truth(
        Kind.COMMIT,
        "after a lost reply a batch that is not true is not taken for true",
        "return bool(at_batch == batch_no)",
        "return True",
        DIES_UNSEEN,
    ),
    truth(
        Kind.COMMIT,
        "after a lost reply a batch that is true is not decided again",
        "return bool(at_batch == batch_no)",
        "return False",
        f"{FAULTS}::test_a_commit_whose_reply_is_lost_was_true",
    ),
    truth(
        Kind.LEDGER,
        "a batch's hash follows from the last",
        "        if batch_no == 0:\n            return GENESIS",
        "        if batch_no >= 0:\n            return GENESIS",
        f"{VERIFY}::test_whatever_is_changed_is_named_at_its_batch_and_position",
    ),
    truth(
        Kind.LOCK_ORDER,
        "holds are locked before seats, when they run out",
        "        done = []\n        if expired:\n",
        """        done = []
        if pairs:
            early = self._seats(pairs) | {"moved": _array([old.hold_id for old in moved])}
            self._conn.execute(sql.FREE_SEATS, early)
        if expired:
""",
        f"{LOCKS}::test_holds_that_run_out_are_locked_before_their_seats_and_places",
        f"{MOVING}::test_a_hold_that_is_moved_is_locked_before_its_seats_and_places",
    ),
    truth(
        Kind.COUNT,
        "holds that are moved are counted",
        'sql.MOVE_HOLDS, given), len(moved), "holds',
        'sql.MOVE_HOLDS, given), -1, "holds',
        f"{MOVING}::test_the_table_moves_no_hold_of_somebody_else",
        more=(("if cursor.rowcount != count:", "if count >= 0 and cursor.rowcount != count:"),),
    ),
    truth(
        Kind.LOCK_ORDER,
        "freed seats are locked by number",
        "pairs = sorted((seat, hold_id) for hold_id, hold in ended for seat in hold.seats)",
        "pairs = [(seat, hold_id) for hold_id, hold in ended for seat in hold.seats]",
        f"{LOCKS}::test_seats_of_holds_that_ran_out_are_locked_by_number",
    ),
    truth(
        Kind.LOCK_ORDER,
        "claimed seats are locked by number",
        "pairs = sorted((seat, claim.hold_id) for claim in claims for seat in claim.hold.seats)",
        "pairs = [(seat, claim.hold_id) for claim in claims for seat in claim.hold.seats]",
        f"{LOCKS}::test_seats_are_claimed_by_number_whatever_the_order_of_requests",
    ),
    truth(
        Kind.LOCK_ORDER,
        "seats are locked before area counters",
        "        if pairs:\n            seats = self._seats(pairs)",
        "        if places:\n            done.append(self._move_areas(places))\n"
        "        if pairs:\n            seats = self._seats(pairs)",
        f"{LOCKS}::test_seats_are_claimed_before_places",
        more=(("            done.append(self._move_areas(places))\n            given", "            given"),),
    ),
    truth(
        Kind.LOCK_ORDER,
        "area counters are locked by number",
        "areas = sorted(moved)",
        "areas = list(moved)",
        f"{LOCKS}::test_places_are_claimed_by_area_number",
    ),
]
