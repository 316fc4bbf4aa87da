"""Faults in what Postgres itself refuses, and in the ledger's digests and hashes."""

from __future__ import annotations

from tests.mutants.mutant import In, Kind, Mutant

LEDGER_TEST = "tests/store/test_ledger.py"
MIGRATE = "tests/store/test_migrate.py"
CONSTRAINTS_TEST = "tests/store/test_constraints.py"
STOPS = "tests/gateway/test_who_stops.py"
spine = In("store/migrations/versions/0001_spine.py")
operators_sales = In("store/migrations/versions/0006_operators_sales.py")
keys = In("store/migrations/versions/0007_keys_by_expression.py")
ledger = In("store/ledger.py")
COLUMNS = ("kind", "arrival", "buyer", "request_id", "input", "outcome", "result")

CONSTRAINTS = [
    spine(
        Kind.CONSTRAINT,
        "a seat is in one hold (hold_seat's primary key)",
        'sa.Column("hold_id", sa.BigInteger(), nullable=False),\n        comment="seats of active',
        'sa.Column("hold_id", sa.BigInteger(), primary_key=True),\n        comment="seats of active',
        f"{CONSTRAINTS_TEST}::test_postgres_refuses_what_breaks_a_law",
    ),
    spine(
        Kind.CONSTRAINT,
        "an area gives no more than its capacity (CHECK)",
        'sa.CheckConstraint("held + sold + blocked <= capacity", name="area_within_capacity")',
        'sa.CheckConstraint("held <= capacity", name="area_within_capacity")',
        f"{CONSTRAINTS_TEST}::test_postgres_refuses_what_breaks_a_law",
    ),
    spine(
        Kind.CONSTRAINT,
        "an area counts nothing below nothing (CHECK)",
        '"held >= 0 AND sold >= 0 AND blocked >= 0"',
        '"sold >= 0 AND blocked >= 0"',
        f"{CONSTRAINTS_TEST}::test_postgres_refuses_what_breaks_a_law",
    ),
    spine(
        Kind.CONSTRAINT,
        "a held or sold seat names its hold, others none (CHECK)",
        "\"(state IN ('held', 'sold')) = (hold_id IS NOT NULL)\"",
        "\"state <> 'held' OR hold_id IS NOT NULL\"",
        f"{CONSTRAINTS_TEST}::test_postgres_refuses_what_breaks_a_law",
    ),
    operators_sales(
        Kind.CONSTRAINT,
        "a paid hold says when (CHECK)",
        "(state IN ('paid', 'refunded')) = (paid_at IS NOT NULL)",
        "state <> 'paid' OR paid_at IS NOT NULL",
        f"{CONSTRAINTS_TEST}::test_postgres_refuses_what_breaks_a_law",
    ),
    keys(
        Kind.CONSTRAINT,
        "a key is decided once (the ledger's unique key)",
        "        unique=True,\n        postgresql_where",
        "        postgresql_where",
        f"{CONSTRAINTS_TEST}::test_postgres_refuses_what_breaks_a_law",
    ),
    keys(
        Kind.CONSTRAINT,
        "every conflict has its row",
        "\"kind = 'request' AND outcome <> 'conflict'\"",
        "\"kind = 'request'\"",
        f"{CONSTRAINTS_TEST}::test_postgres_takes_what_breaks_none",
    ),
    *[
        spine(
            Kind.LEDGER,
            f"{table} is append-only",
            "    for table in APPEND_ONLY:\n",
            f"    for table in set(APPEND_ONLY) - {{'{table}'}}:\n",
            f"{MIGRATE}::test_history_cannot_be_changed",
        )
        for table in ("seat_history", "ledger", "ledger_batch")
    ],
    spine(
        Kind.LEDGER,
        "history cannot be emptied",
        "BEFORE UPDATE OR DELETE OR TRUNCATE ON",
        "BEFORE UPDATE OR DELETE ON",
        f"{MIGRATE}::test_history_cannot_be_changed",
    ),
]

LEDGER = [
    *[
        ledger(
            Kind.LEDGER,
            f"a row's digest covers its {column}",
            'return blake2b("\\t".join(columns).encode(), digest_size',
            f'return blake2b("\\t".join([*columns[:{at}], *columns[{at + 1}:]]).encode(), digest_size',
            f"{CONSTRAINTS_TEST}::test_each_column_is_in_the_digest_that_is_written_and_in_the_one_that_is_checked",
            more=(
                (
                    "digests.append(blake2b(raw, digest_size=DIGEST_BYTES).digest())",
                    (
                        f'digests.append(blake2b("\\t".join([*row[:{at}], *row[{at + 1}:]]).encode(),'
                        " digest_size=DIGEST_BYTES).digest())"
                    ),
                ),
            ),
        )
        for at, column in enumerate(COLUMNS)
    ],
    *[
        ledger(
            Kind.LEDGER,
            f"a batch's hash covers {what}",
            old,
            new,
            f"{LEDGER_TEST}::test_every_part_of_a_batch_is_in_its_hash",
        )
        for what, old, new in (
            ("the hash before it", "sha256(before + head + digests)", "sha256(head + digests)"),
            ("its rows", "sha256(before + head + digests)", "sha256(before + head)"),
            ("its owner's epoch", "{batch_no}|{epoch}|", "{batch_no}|"),
            ("its time", "|{batch_time}|", "|"),
            ("its cursor", "|{arrival}|", "|"),
            ("the version that decided", "|{code_version}|", "|"),
        )
    ],
]

STOPPED = [
    In("store/lookups.py")(
        Kind.BOUND,
        "a gateway that stops in the middle of a change loses it",
        '            "options": ENDS_IDLE,\n',
        "",
        f"{STOPS}::test_a_buyers_change_at_the_gateway",
    ),
    In("gateway/operators/access.py")(
        Kind.BOUND,
        "an operator who stops in the middle of a change loses it",
        "                options=ENDS_IDLE,\n",
        "",
        f"{STOPS}::test_an_operators_change_at_the_gateway",
    ),
    In("onsale/commands/plainly.py")(
        Kind.BOUND,
        "a command that stops in the middle of a change loses it",
        ", options=ENDS_IDLE",
        "",
        f"{STOPS}::test_an_operators_command",
    ),
]

MUTANTS: list[Mutant] = [*CONSTRAINTS, *LEDGER, *STOPPED]
