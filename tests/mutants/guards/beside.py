"""Faults in what operators' alarms are told of what is done beside a sale."""

from __future__ import annotations

from tests.mutants.mutant import In, Kind, Mutant

STORE = "tests/store/test_beside.py"
TOLD = "tests/gateway/test_operator_beside.py"
read = In("store/beside.py")
told = In("gateway/operators/beside.py")
FLEET = "tests/gateway/test_operator_beside_fleet.py"
fleet = In("store/fleet/numbers.py")
watch = In("allocator/balance.py")

MUTANTS: list[Mutant] = [
    read(
        Kind.CHECKER,
        "subscribers that are disabled have nothing waiting",
        "   WHERE subscriber.state = 'active'\n",
        "   WHERE subscriber.state IS NOT NULL\n",
        f"{STORE}::test_of_webhooks_each_subscriber_counts_that_wants_any",
    ),
    read(
        Kind.CHECKER,
        "rows of the outbox that were forgotten do not wait",
        "sum(rows - first.number + 1)",
        "sum(rows - reading.number)",
        f"{STORE}::test_rows_that_were_forgotten_do_not_wait",
    ),
    read(
        Kind.CHECKER,
        "payments that are ended at their provider wait for nothing",
        "('canceled', 'created', 'failed') AND NOT intent_ended",
        "('canceled', 'created', 'failed')",
        f"{STORE}::test_payments_that_are_not_at_rest_are_counted_by_state_and_age",
    ),
    read(
        Kind.BOUND,
        "a reading for alarms is given up when it takes too long",
        '    cursor.execute(f"SET statement_timeout = {STATEMENT_MS_MAX}")\n',
        '    cursor.execute("SET statement_timeout = 60000")\n',
        f"{STORE}::test_a_reading_that_takes_too_long_is_given_up",
    ),
    told(
        Kind.BOUND,
        "however many ask for numbers, Postgres is asked once in a while",
        "            if self._found is None or age > max(KEPT_SECONDS, REST * self._took):\n",
        "            if True:\n",
        f"{TOLD}::test_however_many_ask_it_is_read_once_in_a_while_and_the_age_said",
    ),
    told(
        Kind.CHECKER,
        "numbers that are kept are not told for ever",
        "            if self._found is None or age > max(KEPT_SECONDS, REST * self._took):\n",
        "            if self._found is None:\n",
        f"{TOLD}::test_however_many_ask_it_is_read_once_in_a_while_and_the_age_said",
    ),
    fleet(
        Kind.CHECKER,
        "an event whose owner shows no sign of life counts as nobody's",
        "SELECT event.slug, event.state, lease.owner IS NOT NULL AND NOT {UNATTENDED}, event_cursor.epoch,",
        "SELECT event.slug, event.state, lease.owner IS NOT NULL, event_cursor.epoch,",
        f"{FLEET}::test_an_event_whose_owner_shows_no_sign_of_life_is_owned_by_nobody",
    ),
    fleet(
        Kind.CHECKER,
        "a host that is not heard of any more is not alive",
        """_ALIVE: Final = f"seen_at > clock_timestamp() - interval '{SILENT_SECONDS} seconds'\"\n""",
        """_ALIVE: Final = "seen_at IS NOT NULL\"\n""",
        f"{FLEET}::test_hosts_and_workers_are_counted_by_how_they_are_and_hosts_named",
    ),
    fleet(
        Kind.BOUND,
        "hosts are told by name up to a bound",
        "return FleetNumbers(hosts[:HOSTS_MAX],",
        "return FleetNumbers(hosts,",
        f"{FLEET}::test_labels_are_bounded_and_sums_are_not",
    ),
    watch(
        Kind.CHECKER,
        "rows that do not add up are a number that alarms see",
        "        balance.write(conn, event_id, len(rows))\n",
        "        balance.write(conn, event_id, 0)\n",
        "tests/allocator/test_balance.py::test_what_does_not_add_up_is_an_alert_with_its_rows_and_stays",
    ),
    told(
        Kind.TOKEN,
        "only operators are told how chores and webhooks do",
        ', tags=["operators"], dependencies=[Depends(require_viewer)])\n',
        ', tags=["operators"])\n',
        f"{TOLD}::test_only_operators_are_told",
    ),
]
