"""Faults in who runs a worker's row, who has a host's name, and what goes on while others are away."""

from __future__ import annotations

from tests.mutants.mutant import In, Kind, Mutant

ROWS = "tests/allocator/fleet/test_workers.py"
NAMES = "tests/allocator/fleet/test_hosts.py"
HANDING = "tests/allocator/fleet/test_handing_on.py"
JOB = "tests/allocator/fleet/test_job.py"
AGENT = "tests/allocator/fleet/test_host.py"
SETTINGS = "tests/allocator/fleet/test_settings.py"
workers = In("store/fleet/workers.py")
hosts = In("store/fleet/hosts.py")
handing_on = In("store/fleet/handing_on.py")
job = In("allocator/fleet/job.py")
host = In("allocator/fleet/host.py")
settings = In("allocator/fleet/settings.py")
jobs = In("store/jobs/worker.py")
database = In("store/database.py")
attend = In("allocator/attend.py")

POOLER = "tests/faults/test_pooler.py::test_who_would_own_events_by_way_of_a_pooler_does_not_start"

MUTANTS: list[Mutant] = [
    database(
        Kind.CONDITION,
        "nobody owns events by way of a pooler",
        "    if other_backend(connection, answered):\n        connection.close()\n        raise",
        "    if connection.closed:\n        connection.close()\n        raise",
        f"{POOLER}_and_says_where_to_go",
    ),
    attend(
        Kind.CONDITION,
        "an allocator looks whether it is by way of a pooler",
        "with connect_to_own(self",
        "with connect(self",
        f"{POOLER}_and_says_where_to_go",
    ),
    In("onsale/commands/worker.py")(
        Kind.CONDITION,
        "a host that is refused for its pooler has migrated nothing",
        '        connect_to_own(urls.database_url, "onsale fleet host").close()',
        "        pass",
        "tests/faults/test_pooler.py::test_a_host_that_does_not_start_by_way_of_a_pooler_has_migrated_nothing",
    ),
    host(
        Kind.CONDITION,
        "of another machine of the same hostname nothing is known here",
        "    if where != machine() or not pid.isdigit():",
        "    if where.partition('/')[0] != machine().partition('/')[0] or not pid.isdigit():",
        f"{AGENT}::test_a_predecessor_that_ended_is_relieved_at_once_and_one_that_lives_is_not",
    ),
    hosts(
        Kind.CONDITION,
        "a host that was lost while it drained drains on",
        "(SELECT at FROM fleet_log AS said WHERE said.host",
        "(SELECT at FROM fleet_log AS said WHERE 1 = 2 AND said.host",
        f"{NAMES}::test_a_host_that_was_lost_while_it_drained_drains_when_it_is_heard_of_again",
    ),
    host(
        Kind.CONDITION,
        "what Postgres refuses ends no host",
        "        except psycopg.Error:\n",
        "        except psycopg.NotSupportedError:\n",
        f"{AGENT}::test_what_postgres_refuses_ends_no_host",
    ),
    workers(
        Kind.FENCE,
        "a worker's row is run by one process",
        " WHERE id = %(worker)s AND process IS NULL AND stop_at IS NULL\n",
        " WHERE id = %(worker)s AND stop_at IS NULL\n",
        f"{ROWS}::test_one_process_runs_a_row",
    ),
    workers(
        Kind.CONDITION,
        "a worker that is to stop does not begin",
        " WHERE id = %(worker)s AND process IS NULL AND stop_at IS NULL\n",
        " WHERE id = %(worker)s AND process IS NULL\n",
        f"{ROWS}::test_what_is_to_stop_or_is_wanted_elsewhere_is_not_begun",
    ),
    workers(
        Kind.CONDITION,
        "who lost its row takes nobody else's along",
        "DELETE FROM fleet_worker WHERE id = %(worker)s AND process = %(process)s RETURNING id)",
        "DELETE FROM fleet_worker WHERE id = %(worker)s AND process <> '' RETURNING id)",
        f"{ROWS}::test_who_lost_its_row_hears_that_and_takes_nobodys_along",
    ),
    workers(
        Kind.CONDITION,
        "a row that another process runs by now is not taken for a dead one's",
        "   WHERE fleet_worker.id = dead.id AND fleet_worker.process = dead.process\n",
        "   WHERE fleet_worker.id = dead.id\n",
        f"{ROWS}::test_those_whose_process_is_gone_are_taken_away_and_told",
    ),
    workers(
        Kind.TAKEOVER,
        "nothing is handed to a worker of which nothing was heard",
        "    SELECT stop_at IS NULL AND {WORKER_ALIVE} AND {WARM} AS warm\n",
        "    SELECT stop_at IS NULL AND {WARM} AS warm\n",
        f"{ROWS}::test_a_successor_is_warm_only_while_it_lives_follows_and_is_to_go_on",
    ),
    workers(
        Kind.TAKEOVER,
        "nothing is handed to a worker that has not followed the ledger",
        "    SELECT stop_at IS NULL AND {WORKER_ALIVE} AND {WARM} AS warm\n",
        "    SELECT stop_at IS NULL AND {WORKER_ALIVE} AS warm\n",
        f"{ROWS}::test_a_successor_is_warm_only_while_it_lives_follows_and_is_to_go_on",
    ),
    workers(
        Kind.FENCE,
        "an owner of before says nothing more of an event's load",
        " WHERE event_load.epoch <= excluded.epoch\n",
        "",
        f"{ROWS}::test_loads_are_the_latest_owners",
    ),
    hosts(
        Kind.FENCE,
        "a host's name belongs to one agent that is alive",
        "      OR NOT {HOST_ALIVE}\n",
        "      OR {HOST_ALIVE}\n",
        f"{NAMES}::test_a_name_that_is_in_use_is_refused",
    ),
    hosts(
        Kind.FENCE,
        "an agent that was taken over is told so",
        " WHERE name = %(name)s AND process = %(process)s\nRETURNING CASE",
        " WHERE name = %(name)s\nRETURNING CASE",
        f"{NAMES}::test_who_was_taken_over_is_told_with_its_next_beat",
    ),
    hosts(
        Kind.CONDITION,
        "an agent takes no other's host along when it leaves",
        "DELETE FROM fleet_host WHERE name = %(name)s AND process = %(process)s RETURNING name)",
        "DELETE FROM fleet_host WHERE name = %(name)s RETURNING name)",
        f"{NAMES}::test_who_leaves_takes_along_what_had_not_begun",
    ),
    handing_on(
        Kind.LOCK_ORDER,
        "who hands on and who plans take turns",
        "        conn.execute(TURN)\n",
        "",
        f"{HANDING}::test_it_does_not_plan_while_the_planner_does",
    ),
    handing_on(
        Kind.TAKEOVER,
        "nothing is handed on to who cannot take it",
        "stop_at IS NULL AND {WORKER_ALIVE} AND {WARM}\n",
        "stop_at IS NULL AND {WORKER_ALIVE}\n",
        f"{HANDING}::test_who_is_cold_silent_or_ending_takes_nothing",
    ),
    handing_on(
        Kind.TAKEOVER,
        "nothing is handed on within a host that has left",
        "AND EXISTS (SELECT FROM fleet_host WHERE fleet_host.name = fleet_worker.host)",
        "",
        f"{HANDING}::test_a_sibling_on_a_host_that_has_left_takes_nothing",
    ),
    job(
        Kind.FENCE,
        "a worker without its row ends",
        '                log.warning("worker %s was taken for lost; this process ends", self._worker)\n'
        "                self._stop_asked.set()\n",
        "                pass\n",
        f"{JOB}::test_taken_for_lost_it_ends_and_leaves_the_row_to_who_has_it",
    ),
    job(
        Kind.BOUND,
        "handing on has an end",
        " and time.monotonic() < until:\n",
        ":\n",
        f"{JOB}::test_what_nobody_takes_is_waited_for_no_longer_than_a_moment",
    ),
    job(
        Kind.TAKEOVER,
        "who leaves hands on first",
        "        handing_on.hand_on(conn, self._worker, self._process)\n",
        "",
        f"{JOB}::test_what_another_can_take_at_once_is_waited_for_before_it_ends",
    ),
    job(
        Kind.BOUND,
        "leaving does not wait for Postgres",
        "                self._stop_asked.set()  # leaving",
        "                pass  # leaving",
        f"{JOB}::test_leaving_does_not_wait_for_a_postgres_that_is_away",
    ),
    workers(
        Kind.CONDITION,
        "on a draining host nothing begins",
        " AND fleet_worker.process IS NULL AND stop_at IS NULL AND {MAY_TAKE}\n",
        " AND fleet_worker.process IS NULL AND stop_at IS NULL\n",
        f"{AGENT}::test_on_a_draining_host_nothing_begins",
    ),
    host(
        Kind.DEDUPE,
        "a worker that waits to begin is enqueued once",
        "                if str(worker) not in waiting:\n",
        "                if waiting is not None:\n",
        f"{AGENT}::test_who_is_wanted_is_told_to_begin_once",
    ),
    host(
        Kind.FENCE,
        "an agent that lives keeps its name",
        "                elif lives or stop.wait(TURN_SECONDS):\n                    raise\n",
        "                elif stop.wait(TURN_SECONDS) or lives:\n                    gone = taken.process\n",
        f"{AGENT}::test_a_predecessor_that_ended_is_relieved_at_once_and_one_that_lives_is_not",
    ),
    settings(
        Kind.BOUND,
        "a host has a bounded number of slots",
        " or not 1 <= int(written) <= SLOTS_MAX:",
        ":",
        f"{SETTINGS}::test_slots_out_of_bounds_are_refused",
    ),
    jobs(
        Kind.COMMIT,
        "a run is watched while RQ's Redis is away",
        "        with contextlib.suppress(RedisError, OSError):\n"
        "            super().maintain_heartbeats(job)\n",
        "        super().maintain_heartbeats(job)\n",
        "tests/store/test_jobs.py::test_watching_a_run_does_not_need_rqs_redis",
    ),
]
