"""The ledger's text: one line a row for COPY, one digest a row, one hash a batch chained to the last.

A row's digest covers what the row says; a batch's hash covers its head, its digests and the hash
before it. So a changed row is named by its digest, and a changed or missing batch by the chain.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import blake2b, sha256

from store.words import LedgerKind

DIGEST_BYTES = 16
GENESIS = bytes(32)
"""The hash before an event's first batch."""


def row_digest(columns: Sequence[str]) -> bytes:
    """Digest of (kind, arrival, buyer, request_id, input, outcome, result); NULL counts as empty.

    No column can hold a tab: names are checked at the door, JSON text escapes it.
    """
    return blake2b("\t".join(columns).encode(), digest_size=DIGEST_BYTES).digest()


def copy_lines(
    event_id: int, batch_no: int, rows: Iterable[Sequence[str]], first_position: int = 0
) -> tuple[bytes, bytes]:
    """(the rows as COPY text for table `ledger`, their digests one after the other).

    Columns: event_id, batch_no, position, then the seven of `row_digest`; of facts and of what ran out
    arrival, buyer and request id are NULL, of offers the arrival.
    """
    lines: list[bytes] = []
    digests: list[bytes] = []
    head = f"{event_id}\t{batch_no}\t"
    for position, row in enumerate(rows, first_position):
        text = "\t".join(row)
        raw = text.encode()
        digests.append(blake2b(raw, digest_size=DIGEST_BYTES).digest())
        if "\\" in text:
            raw = raw.replace(b"\\", b"\\\\")
        if "\t\t" in text:
            raw = raw.replace(b"\t\t\t\t", b"\t\\N\t\\N\t\\N\t")
            if row[0] == LedgerKind.OFFER:
                raw = raw.replace(b"\t\t", b"\t\\N\t", 1)
        lines.append(f"{head}{position}\t".encode() + raw + b"\n")
    return b"".join(lines), b"".join(digests)


def batch_hash(
    before: bytes, batch_no: int, epoch: int, batch_time: int, arrival: str, code_version: int, digests: bytes
) -> bytes:
    """SHA-256 over the hash before and everything this batch says of itself."""
    head = f"{batch_no}|{epoch}|{batch_time}|{arrival}|{code_version}|".encode()
    return sha256(before + head + digests).digest()
