"""Faults in the replay: what it must name."""

from __future__ import annotations

from tests.mutants.mutant import In, Kind, Mutant

VERIFY = "tests/allocator/test_verify.py"
VERSIONS = "tests/allocator/test_versions.py"
replay = In("allocator/replay.py")
TAMPERED = f"{VERIFY}::test_whatever_is_changed_is_named_at_its_batch_and_position"

MUTANTS: list[Mutant] = [
    replay(
        Kind.REPLAY,
        "a changed row is named",
        "        if row_digest(row) != erased.get(position, digest):\n",
        "        if False:\n",
        TAMPERED,
    ),
    replay(
        Kind.REPLAY,
        "a moved row is named",
        "        elif at != position:\n",
        "        elif False:\n",
        TAMPERED,
    ),
    replay(
        Kind.REPLAY,
        "a row too many or too few is named",
        "    if len(digests) != len(batch.rows):\n        now",
        "    if len(digests) > 1 << 30:\n        now",
        TAMPERED,
    ),
    replay(
        Kind.REPLAY,
        "a changed batch is named",
        "    if batch_hash(before, *head, batch.digests) != batch.hash:\n",
        "    if False:\n",
        TAMPERED,
    ),
    replay(
        Kind.REPLAY,
        "a missing batch is named",
        "    if batch.batch_no != expected:\n",
        "    if False:\n",
        TAMPERED,
    ),
    replay(
        Kind.REPLAY,
        "an end that was cut off is named",
        "    if until >= expected:\n",
        "    if False:\n",
        TAMPERED,
    ),
    replay(
        Kind.REPLAY,
        "rows of no batch are named",
        "    yield from _rows_of_no_batch(conn, event_id)\n",
        "",
        TAMPERED,
    ),
    replay(
        Kind.REPLAY,
        "a decision that does not come out again is named",
        "        if row != other:\n",
        "        if False:\n",
        f"{VERIFY}::test_a_ledger_written_anew_with_right_hashes_is_named_by_what_it_decides",
    ),
    replay(
        Kind.REPLAY,
        "a conflict with nothing is named",
        "if row.outcome == Outcome.CONFLICT and earlier == row.input:",
        "if False:",
        f"{VERIFY}::test_a_conflict_without_an_earlier_request_is_named",
    ),
    replay(
        Kind.REPLAY,
        "a batch of a version that this code does not have is named",
        "        if number in VERSIONS:\n            yield batch\n",
        "        if True:\n            yield batch\n",
        f"{VERSIONS}::test_a_batch_of_a_version_nobody_has_is_followed_and_called_unproven_and_the_next_are_proven",
    ),
    In("allocator/decide.py")(
        Kind.REPLAY,
        "what decides otherwise is another version",
        ',"why":"',
        ',"because":"',
        f"{VERSIONS}::test_a_version_decides_its_recorded_sale_again_as_it_did",
    ),
]
