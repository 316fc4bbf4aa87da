"""Erase a buyer: a pseudonym for the id wherever it stands, and all else that is known of them gone.

Promises:
- all or nothing, in one transaction, with a row in `audit` for each event (and one for other mails to an
  address) that says who and why, and nothing of whom;
- only of events that are closed and at rest: nobody decides, pays or is paid back under that name any more.
  Where one is not, nothing is erased (409);
- what was decided can still be decided again: a row of the ledger keeps everything but whose it is, and one
  pseudonym stands for one buyer in all of an event. Its new digest is kept in `ledger_erasure`, the chain of
  hashes stays over what was written;
- nothing comes back: what a stream still has of the buyer goes first, or nothing does;
- again is 404: nothing is known of that buyer.

What is in the books stays: amounts, what was bought, and the provider's own number of a payment.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, Final

import psycopg
from msgspec import Struct
from psycopg.rows import tuple_row

from store import audit
from store.audit import Said
from store.erasure import statements
from store.erasure.words import as_written, in_field, in_keys, is_pseudonym, new_pseudonym
from store.errors import BadRequest, Conflicted, NotFound
from store.events import changing
from store.ledger import row_digest
from store.stream.forget import forget_requests
from store.words import Arrival, EventState, FactKind

Conn = psycopg.Connection[Any]

BUYER_LENGTH_MAX: Final = 255
MAIL_LENGTH_MAX: Final = 254
BUYERS_MAX: Final = 20
"""Most buyers that one address is of."""
BUYER_COLUMN: Final = 2
INPUT_COLUMN: Final = 4
OUTCOME_COLUMN: Final = 5


class Erased(Struct, frozen=True):
    """What was erased: where, of how many buyers, and how many rows of each table."""

    events: list[str]
    buyers: int
    rows: dict[str, int]


class _Event(Struct, frozen=True):
    id: int
    slug: str
    state: EventState
    tour_id: int | None


def erase(
    conn: Conn, said: Said, redis_url: str, *, buyer: str | None = None, mail: str | None = None
) -> Erased:
    """Erase that buyer, or whoever gave that mail address; also from the events' streams.

    Raises `BadRequest` (invalid_buyer), `NotFound` (unknown_buyer), `Conflicted` (sale_running, not_at_rest,
    too_many_buyers) and `Unavailable`; nothing was changed then. `conn` has no transaction open.
    """
    if (buyer is None) is (mail is None):
        raise BadRequest("invalid_buyer", "Say either the buyer's id or a mail address.")
    with changing(conn):
        addresses = _address(mail)
        buyers = [_checked(buyer)] if buyer is not None else _buyers_of(conn, addresses)
        rows: dict[str, int] = {}
        events: set[str] = set()
        for one in buyers:
            events |= _erase_one(conn, said, redis_url, one, rows)
        _forget_mails(conn, said, addresses, rows)
        if not any(rows.values()):
            raise NotFound("unknown_buyer", "Nothing is known of that buyer or address.")
    return Erased(sorted(events), len(buyers), {name: rows[name] for name in sorted(rows) if rows[name]})


def digests(conn: Conn, event_id: int) -> dict[int, dict[int, bytes]]:
    """Batch → position → the digest that a row has since it was erased."""
    found: dict[int, dict[int, bytes]] = {}
    for batch_no, position, digest in _rows(conn, statements.ERASED, {"event": event_id}):
        found.setdefault(batch_no, {})[position] = bytes(digest)
    return found


def _erase_one(conn: Conn, said: Said, redis_url: str, buyer: str, rows: dict[str, int]) -> set[str]:
    found = [_Event(id_, slug, EventState(state), tour) for id_, slug, state, tour in _find(conn, buyer)]
    values: dict[str, Any] = {"events": [event.id for event in found], "buyer": buyer}
    conn.execute(statements.LOCK_EVENTS, values)
    decided = dict(_rows(conn, statements.LOCK_CURSORS, values))
    _must_rest(conn, found, values)
    conn.execute(statements.BEGIN)
    names = as_written(buyer)
    values["names"] = [name.encode() for name in names]
    _add(rows, "idempotency_key", conn.execute(statements.FORGET_KEYS, values).rowcount)
    for event in found:
        until = Arrival(decided[event.id])
        _add(rows, "stream", forget_requests(redis_url, event.slug, buyer, until))
        _erase_in(conn, said, event, buyer, names, rows)
    return {event.slug for event in found}


def _forget_mails(conn: Conn, said: Said, addresses: list[str], rows: dict[str, int]) -> None:
    """What was written to that address otherwise; of no event that is told of."""
    count = conn.execute(statements.FORGET_MAILS, {"addresses": addresses}).rowcount
    if count:
        audit.write(conn, None, said, {"change": "erase mails", "rows": {"mail": count}})
    _add(rows, "mail", count)


def _must_rest(conn: Conn, found: Sequence[_Event], values: dict[str, Any]) -> None:
    """Raises `Conflicted` where something is still to be decided or done for the buyer."""
    running = [event.slug for event in found if event.state is not EventState.CLOSED]
    running += [slug for (slug,) in _rows(conn, statements.SIBLINGS_RUN, values)]
    if running:
        story = f"{', '.join(dict.fromkeys(running))} is not closed: decisions there depend on who asks."
        raise Conflicted("sale_running", f"{story} Nothing was erased. Close it, then erase.")
    for slug, why in _rows(conn, statements.NOT_AT_REST, values):
        if why is not None:
            story = f"{slug} is not at rest: {why}. Nothing was erased."
            raise Conflicted("not_at_rest", f"{story} Try again once that is done.")


def _erase_in(
    conn: Conn, said: Said, event: _Event, buyer: str, names: list[str], rows: dict[str, int]
) -> None:
    values: dict[str, Any] = {"event": event.id, "buyer": buyer}
    values["written"] = [f"%{_literally(name)}%" for name in names]
    values["pseudonym"] = pseudonym = new_pseudonym()
    values["addresses"] = [email for (email,) in _rows(conn, statements.ADDRESSES, values)]
    counts: dict[str, int] = {}
    changed = list(_ledger_rows(_rows(conn, statements.LEDGER, values), buyer, pseudonym))
    for table, statement in statements.CHANGES.items():
        _add(counts, table, conn.execute(statement.encode(), values).rowcount)
    for table, (find, put, fields) in statements.TEXTS.items():
        _add(counts, table, _change_texts(conn, find, put, fields, values))
    counts["ledger"] = len(changed)
    told = {name: count for name, count in sorted(counts.items()) if count}
    what = {"change": "erase buyer", "pseudonym": pseudonym, "rows": told}
    values["audit"] = audit.write(conn, event.id, said, what).id
    conn.execute(statements.REMEMBER, values)
    if changed:
        values |= {"batches": [at[0] for at, _ in changed], "positions": [at[1] for at, _ in changed]}
        values |= {"digests": [row_digest(row) for _, row in changed]}
        values |= {"buyers": [row[BUYER_COLUMN] for _, row in changed]}
        values |= {"inputs": [row[INPUT_COLUMN] for _, row in changed]}
        conn.execute(statements.KEEP_DIGESTS, values)
        conn.execute(statements.CHANGE_LEDGER, values)
    for table, count in counts.items():
        _add(rows, table, count)


def _ledger_rows(
    found: Iterable[tuple[Any, ...]], buyer: str, pseudonym: str
) -> Iterable[tuple[tuple[int, int], list[str]]]:
    """((batch, position), the row as it is from now on) of those that name the buyer."""
    for batch_no, position, *row in found:
        was = list(row)
        if row[BUYER_COLUMN] == buyer:
            row[BUYER_COLUMN] = pseudonym
        if row[OUTCOME_COLUMN] == FactKind.ELSEWHERE and row[0] == "fact":
            row[INPUT_COLUMN] = in_keys(row[INPUT_COLUMN], buyer, pseudonym)
        elif row[0] == "fact":
            row[INPUT_COLUMN] = in_field(row[INPUT_COLUMN], buyer, pseudonym, ("buyer",))
        if row != was:
            yield (batch_no, position), row


def _change_texts(conn: Conn, find: str, put: str, fields: tuple[str, ...], values: dict[str, Any]) -> int:
    found = _rows(conn, find, values)
    new = [(row, in_field(text, values["buyer"], values["pseudonym"], fields)) for row, text in found]
    changed = [(row, text) for (row, text), (_, was) in zip(new, found, strict=True) if text != was]
    if not changed:
        return 0
    given = {"ids": [row for row, _ in changed], "texts": [text for _, text in changed]}
    return conn.execute(put.encode(), values | given).rowcount


def _find(conn: Conn, buyer: str) -> list[tuple[Any, ...]]:
    return _rows(conn, statements.FIND, {"buyer": buyer})


def _buyers_of(conn: Conn, addresses: list[str]) -> list[str]:
    found = _rows(conn, statements.FIND_BY_MAIL, {"mails": addresses, "limit": BUYERS_MAX + 1})
    if len(found) > BUYERS_MAX:
        story = f"More than {BUYERS_MAX} buyers gave that address. Erase them one by one, by their ids."
        raise Conflicted("too_many_buyers", story)
    return [buyer for (buyer,) in found if not is_pseudonym(buyer)]


def _checked(buyer: str) -> str:
    if not 0 < len(buyer) <= BUYER_LENGTH_MAX or not buyer.isprintable() or is_pseudonym(buyer):
        story = f"A buyer's id has 1 to {BUYER_LENGTH_MAX} printable characters, and is no pseudonym."
        raise BadRequest("invalid_buyer", story)
    return buyer


def _address(mail: str | None) -> list[str]:
    """The address in small letters, if there is one; raises `BadRequest` (invalid_buyer)."""
    if mail is None:
        return []
    said = mail.strip()
    if not 2 < len(said) <= MAIL_LENGTH_MAX or "@" not in said or not said.isprintable():
        raise BadRequest("invalid_buyer", "That is no mail address.")
    return [said.lower()]


def _literally(text: str) -> str:
    """For LIKE: nothing in it stands for anything else."""
    return re.sub(r"([\\%_])", r"\\\1", text)


def _add(rows: dict[str, int], name: str, count: int) -> None:
    rows[name] = rows.get(name, 0) + max(0, count)


def _rows(conn: Conn, statement: str, values: dict[str, Any]) -> list[tuple[Any, ...]]:
    return conn.cursor(row_factory=tuple_row).execute(statement.encode(), values).fetchall()
