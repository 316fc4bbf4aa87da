"""Faults in mails, in what is compared, and in how chores are planned and run."""

from __future__ import annotations

from tests.mutants.mutant import In, Kind, Mutant

TESTS = "tests/onsale/chores"
MAIL = f"{TESTS}/test_mail.py"
RECONCILE = f"{TESTS}/test_reconcile.py"
RUNNING = f"{TESTS}/test_running.py"
PLANNER = f"{TESTS}/test_planner.py"
WORK = f"{TESTS}/test_work.py"
PROCESSES = f"{TESTS}/test_processes.py"
COMPARED = "tests/gateway/test_compared.py"
sweeping = In("store/sweeping.py")
ending = In("store/payments/ending.py")
answered = In("store/payments/answered.py")
stuck = In("store/payments/stuck.py")
mails = In("store/mail.py")
runs = In("store/chores/runs.py")
letters = In("notifier/mail.py")
compared = In("gateway/compared.py")
doing = In("onsale/chores/doing.py")
payments = In("onsale/chores/payments.py")
refunds = In("onsale/chores/refunds.py")
late = In("onsale/chores/late.py")
mail = In("onsale/chores/mail.py")
reconcile = In("onsale/chores/reconcile.py")
run = In("onsale/chores/run.py")
planner = In("onsale/chores/planner.py")
worker = In("store/jobs/worker.py")
trim = In("onsale/chores/trim.py")

TOLD: list[Mutant] = [
    mails(
        Kind.DEDUPE,
        "a row is made a mail of once",
        "        moved = await connection.execute(MOVE_POSITION, values)\n"
        '        assert moved.rowcount == 1, "the position is locked and rows beyond it were read"\n',
        "",
        f"{MAIL}::test_rows_that_mails_say_nothing_of_are_passed_over",
    ),
    mails(
        Kind.DEDUPE,
        "a mail that was sent is not sent again",
        "UPDATE mail SET state = 'sent', ended_at = clock_timestamp(), last_error = NULL\n",
        "UPDATE mail SET last_error = NULL, next_at = clock_timestamp()\n",
        f"{MAIL}::test_an_order_is_told_once_to_its_buyer",
    ),
    mails(
        Kind.DEDUPE,
        "a mail that somebody takes is theirs for a while",
        "UPDATE mail SET next_at = clock_timestamp() + interval '{TAKEN_SECONDS} seconds', attempts",
        "UPDATE mail SET attempts",
        f"{MAIL}::test_who_is_killed_after_sending_sends_it_again_under_the_same_name",
    ),
    mails(
        Kind.BOUND,
        "a mail that cannot be sent is given up in the end",
        "state = CASE WHEN %(never)s OR attempts >= {ATTEMPTS_MAX} THEN",
        "state = CASE WHEN %(never)s THEN",
        f"{MAIL}::test_one_that_cannot_be_sent_waits_longer_each_time_and_stops_nobody",
        more=(
            (
                "ended_at = CASE WHEN %(never)s OR attempts >= {ATTEMPTS_MAX}",
                "ended_at = CASE WHEN %(never)s",
            ),
        ),
    ),
    mail(
        Kind.BOUND,
        "a mail that nobody tried to send is not counted as tried",
        "                    await rows.put_back(doing.connection, taken[place:])\n",
        "",
        f"{MAIL}::test_what_was_taken_and_not_tried_is_due_as_before",
    ),
    mails(
        Kind.BOUND,
        "pauses between mails that cannot be sent grow",
        "BACKOFF_SECONDS_FIRST * 2.0 ** min(mail.attempts, 20)",
        "2 * BACKOFF_SECONDS_FIRST",
        f"{MAIL}::test_one_that_cannot_be_sent_waits_longer_each_time_and_stops_nobody",
    ),
    mail(
        Kind.CONDITION,
        "a mail that nobody can get is given up at once",
        "str(error), stretch=1.0, never=True)\n        return False\n",
        "str(error), stretch=1.0)\n        return False\n",
        f"{MAIL}::test_an_address_nobody_has_is_given_up_at_once",
    ),
    letters(
        Kind.DEDUPE,
        "the same mail has the same Message-ID",
        'f"<{number}.{digest}@',
        'f"<{os.urandom(4).hex()}.{digest}@',
        f"{MAIL}::test_who_is_killed_after_sending_sends_it_again_under_the_same_name",
        f"{MAIL}::test_the_same_mail_again_is_the_same_file",
    ),
    letters(
        Kind.CONDITION,
        "what people named is no markup of a mail",
        'f"<p>{html.escape(line)}</p>"',
        'f"<p>{line}</p>"',
        f"{MAIL}::test_every_kind_that_is_mailed_has_words_and_no_markup_of_others",
    ),
    reconcile(
        Kind.SNAPSHOT,
        "a map that a fact has changed is told to nobody",
        "SELECT NOT EXISTS (SELECT FROM fact WHERE event_id = %(event)s)\n       AND batch_no",
        "SELECT batch_no",
        f"{RECONCILE}::test_a_map_that_changes_meanwhile_is_told_to_nobody",
    ),
    reconcile(
        Kind.SNAPSHOT,
        "a map that a batch has changed is told to nobody",
        "AND batch_no = %(batch)s FROM",
        "AND batch_no >= 0 FROM",
        f"{RECONCILE}::test_a_map_that_changes_meanwhile_is_told_to_nobody",
    ),
    reconcile(
        Kind.BOUND,
        "a map that nobody serves is not read",
        "await map_now(doing.connection, event) if listening else None",
        "await map_now(doing.connection, event)",
        f"{RECONCILE}::test_a_map_that_nobody_serves_is_not_read",
    ),
    compared(
        Kind.GATE,
        "a map that is wrong is read anew",
        "elif map_digest(self._seats.letters, self._seats.areas_free) != digest:",
        "elif digest < 0:",
        f"{COMPARED}::test_a_map_that_is_wrong_is_read_anew",
    ),
    compared(
        Kind.GATE,
        "what is said of an older map says nothing",
        "if self._reloading() or known > batch_no:",
        "if self._reloading():",
        f"{COMPARED}::test_what_is_said_of_an_older_map_says_nothing",
    ),
    compared(
        Kind.GATE,
        "a batch that was never heard of is read",
        "call_later(HEARD_SECONDS, self._heard, batch_no)",
        "call_later(HEARD_SECONDS, self.stop)",
        f"{COMPARED}::test_a_batch_that_was_never_heard_of_is_read",
    ),
]

RUN: list[Mutant] = [
    runs(
        Kind.DEDUPE,
        "a slot is claimed once",
        "   WHERE chore = ANY (%(chores)s::text[]) AND due_at <= clock_timestamp()\n     AND (long",
        "   WHERE chore = ANY (%(chores)s::text[])\n     AND (long",
        f"{PLANNER}::test_what_is_due_is_enqueued_and_then_it_is_not_due",
        f"{PLANNER}::test_two_hosts_plan_each_slot_once",
    ),
    runs(
        Kind.BOUND,
        "no run is begun for nothing",
        " seconds' OR {work.THERE_IS})\n",
        " seconds' OR true)\n",
        f"{WORK}::test_what_finds_nothing_is_begun_now_and_then",
    ),
    runs(
        Kind.BOUND,
        "a chore that finds nothing shows now and then that it could",
        "          OR ended_at <= clock_timestamp() - interval '{QUIET_SECONDS} seconds' OR {work",
        "          OR {work",
        f"{WORK}::test_what_finds_nothing_is_begun_now_and_then",
    ),
    planner(
        Kind.BOUND,
        "whether there is work is not asked all the time",
        " if now >= self._look_again.get(name, now)]",
        "]",
        f"{WORK}::test_work_is_looked_for_as_often_as_it_would_be_done",
    ),
    runs(
        Kind.LOCK_ORDER,
        "planners do not wait for each other",
        "ORDER BY chore FOR UPDATE SKIP LOCKED)",
        "ORDER BY chore)",
        f"{PLANNER}::test_two_hosts_plan_each_slot_once",
    ),
    runs(
        Kind.FENCE,
        "a long chore that another began anew ends",
        " WHERE chore = %(chore)s AND worker = %(worker)s\n",
        " WHERE chore = %(chore)s\n",
        f"{RUNNING}::test_a_long_chore_that_was_begun_anew_elsewhere_ends",
        f"{RUNNING}::test_a_long_chore_is_not_due_while_it_lives",
    ),
    runs(
        Kind.BOUND,
        "failures in a row make pauses longer",
        "every_seconds * 2 ^ least(failures, 6)))",
        "every_seconds))",
        f"{RUNNING}::test_failures_are_counted_told_and_come_again_later_each_time",
    ),
    runs(
        Kind.BOUND,
        "a run that had more to do goes on at once",
        "         WHEN %(more)s THEN clock_timestamp()\n",
        "         WHEN %(more)s THEN due_at\n",
        f"{RUNNING}::test_a_run_out_of_time_goes_on_at_once",
    ),
    doing(
        Kind.BOUND,
        "a run ends when its time is used up",
        "if self.stop.is_set() or time.monotonic() > self._ends_at:",
        "if self.stop.is_set():",
        f"{RUNNING}::test_time_that_is_used_up_ends_a_run",
    ),
    doing(
        Kind.BOUND,
        "a run ends when nobody answers",
        "        if self.away >= FAILED_ALIKE_MAX:\n            return True\n",
        "",
        f"{RUNNING}::test_many_failures_of_one_run_are_told_in_short_and_end_it",
    ),
    planner(
        Kind.BOUND,
        "one run of a chore waits at most",
        "        if queue.count:  # no worker",
        "        if queue.count > 9:  # no worker",
        f"{PLANNER}::test_one_run_waits_at_most_however_long_nobody_comes",
    ),
    planner(
        Kind.ASK_AGAIN,
        "a slot that could not be enqueued comes again soon",
        "            runs.put_back(conn, left, jitter(*AGAIN_SECONDS))\n",
        "",
        f"{PLANNER}::test_a_redis_that_is_away_puts_the_slot_off",
    ),
    worker(
        Kind.FENCE,
        "a run ends with its worker",
        "        launch.die_with_parent(parent, signal.SIGKILL)\n",
        "        pass\n",
        f"{PROCESSES}::test_a_long_chore_dies_with_its_worker_and_is_begun_anew",
    ),
    worker(
        Kind.BOUND,
        "a long chore is told to stop",
        "            os.kill(self.horse_pid, signal.SIGTERM)\n",
        "            pass\n",
        f"{PROCESSES}::test_a_long_chore_dies_with_its_worker_and_is_begun_anew",
    ),
    trim(
        Kind.CONDITION,
        "notices that may come again are not forgotten",
        " WHERE at < clock_timestamp() - make_interval(days => %(days)s)\n",
        " WHERE %(days)s > 0\n",
        f"{PLANNER}::test_what_is_old_is_forgotten_and_the_rest_stays",
    ),
    mails(
        Kind.CONDITION,
        "mails that were not sent are not forgotten",
        "WHERE state <> 'due' AND ended_at < clock_timestamp() - make_interval(days => %(days)s)\n",
        "WHERE coalesce(ended_at, '-infinity') < clock_timestamp() - make_interval(days => %(days)s)\n",
        f"{PLANNER}::test_what_is_old_is_forgotten_and_the_rest_stays",
    ),
]

MUTANTS: list[Mutant] = [*TOLD, *RUN]
