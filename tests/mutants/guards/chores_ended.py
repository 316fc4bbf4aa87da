"""Faults in how runs of chores end: killed, too long, begun anew elsewhere, with one thing of many broken."""

from __future__ import annotations

from tests.mutants.mutant import In, Kind, Mutant

TESTS = "tests/onsale/chores"
RUNNING = f"{TESTS}/test_running.py"

runs = In("store/chores/runs.py")
run = In("onsale/chores/run.py")
worker = In("onsale/chores/worker.py")
planner = In("onsale/chores/planner.py")
sweep = In("onsale/chores/sweep.py")
relay = In("notifier/relay.py")

MUTANTS: list[Mutant] = [
    runs(
        Kind.FENCE,
        "who was begun in place of another is not begun in place of itself",
        " WHERE chore = %(chore)s AND (NOT long OR worker = %(worker)s)\n",
        " WHERE chore = %(chore)s\n",
        f"{RUNNING}::test_who_was_begun_in_place_of_another_is_not_begun_in_place_of_itself",
    ),
    run(
        Kind.CONDITION,
        "a run that took too long is written down",
        "    except Exception as failure:  # from outside it: RQ's",
        "    except ZeroDivisionError as failure:  # from outside it: RQ's",
        f"{RUNNING}::test_a_run_that_takes_too_long_has_failed",
    ),
    worker(
        Kind.CONDITION,
        "a run that was killed is written down",
        "        run.was_killed(",
        "        print(",
        f"{TESTS}/test_processes.py::test_a_run_that_is_killed_is_told_as_failed",
    ),
    planner(
        Kind.ASK_AGAIN,
        "a planner outlives both engines",
        "        except psycopg.OperationalError as error:\n            self.close()\n",
        "        except ZeroDivisionError as error:\n            self.close()\n",
        f"{TESTS}/test_planner.py::test_both_engines_away_at_once_are_waited_for",
        f"{TESTS}/test_planner.py::test_a_database_that_was_away_is_asked_again",
    ),
    sweep(
        Kind.BOUND,
        "an event that cannot be swept stops no other",
        'await doing.trying(f"event {event}", sweeping.sweep(doing.connection, event))',
        "await sweeping.sweep(doing.connection, event)",
        f"{TESTS}/test_sweep.py::test_an_event_whose_places_postgres_refuses_to_free_is_told_and_stops_no_other",
    ),
    relay(
        Kind.BOUND,
        "a message that cannot be tried ends nothing else",
        "        except Exception:  # of this message: it is due again",
        "        except ZeroDivisionError:  # of this message: it is due again",
        "tests/notifier/test_relay_tries.py::test_one_message_that_cannot_even_be_tried_ends_nothing_else",
    ),
    In("onsale/chores/reconcile.py")(
        Kind.BOUND,
        "what is never at an end is not begun again at once",
        "    doing.more = False  # it is never",
        "    # it is never",
        f"{TESTS}/test_reconcile.py::test_a_run_that_has_no_time_for_all_is_not_begun_again_at_once",
    ),
    In("onsale/chores/doing.py")(
        Kind.BOUND,
        "a run does not keep the last look at a payment waiting",
        "BUDGET_SECONDS: Final = 5.0\n",
        "BUDGET_SECONDS: Final = 20.0\n",
        f"{RUNNING}::test_a_run_leaves_its_worker_in_time_for_the_last_look_at_a_payment",
    ),
]
