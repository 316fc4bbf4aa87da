"""The statements by which holds are paid for and money goes back, as the virtual Postgres runs them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from store import lookups
from store.lost_time import OUTAGE_SECONDS
from store.payments import begin, buying, ending, late, records, refunds, settle
from store.payments.states import OPEN
from tests.simulation.postgres import ONE, AreaRow, FactRow, HoldRow, Session
from tests.simulation.world import SECOND

TAKEN_SECONDS = 5
"""Shorter than in life, where nobody gives refunds so soon after somebody was killed."""
Rows = list[tuple[Any, ...]]
Values = Mapping[str, Any]


class PaymentRow(NamedTuple):
    hold: int
    buyer: str
    provider: str
    currency: str
    amount: int
    fee: int
    tax: int
    charged: str
    quantity: int
    seats: list[int]
    state: str = "created"
    order: int | None = None
    intent: str | None = None
    reason: str | None = None
    declines: int = 0
    due: int = 0
    given: int = 0
    succeeded_at: int | None = None


class RefundRow(NamedTuple):
    payment: int
    amount: int
    reason: str
    next_at: int
    state: str = "due"


def _all(session: Session, table: str) -> Iterator[tuple[int, Any]]:
    """Rows by number, as this transaction sees them."""
    mine = session.pending.get(table, {})
    for number in sorted({*session.database.rows[table], *mine}):
        if (row := session.get(table, number)) is not None:
            yield number, row


def _locked(session: Session, table: str, number: int) -> Any:
    session.lock(table, number, 1.0)
    return session.get(table, number)


def _columns(number: int, row: PaymentRow) -> tuple[Any, ...]:
    return (
        number, ONE, row.hold, row.order, row.buyer, row.provider, row.intent, None, row.state, row.currency,
        row.amount, row.fee, row.tax, row.quantity, row.declines, row.reason, row.due, row.given, 0,
        row.succeeded_at, row.charged,
    )  # fmt: skip


# --- beginning ---


def _lock_hold(session: Session, values: Values) -> Rows:
    def runs() -> HoldRow | None:
        row: HoldRow | None = session.get("hold", values["hold"])
        mine = row is not None and row.buyer == values["buyer"] and row.state == "active"
        return row if mine and row is not None and row.expires_at > session.database.run_by() else None

    if runs() is None:
        return []
    session.lock("hold", values["hold"], 1.0)
    row = runs()
    return [] if row is None else [(row.quantity,)]


def _find_open(session: Session, values: Values) -> Rows:
    found = [(no, row) for no, row in _all(session, "payment") if row.hold == values["hold"]]
    return [_columns(no, row) for no, row in found if row.state in OPEN]


def _cancel_one(session: Session, values: Values) -> Rows:
    row = _locked(session, "payment", values["payment"])
    if row.state in OPEN:
        session.put("payment", values["payment"], row._replace(state="canceled"))
    return []


def _insert(session: Session, values: Values) -> Rows:
    assert not _find_open(session, values), "payment_open: no two open payments for one hold"
    session.database.last_payment += 1
    number = session.database.last_payment
    names = ("hold", "buyer", "provider", "currency", "amount", "fee", "tax", "charged", "quantity", "seats")
    row = PaymentRow(*[values[name] for name in names])
    session.insert("payment", number, row)
    return [_columns(number, row)]


def _attach(session: Session, values: Values) -> Rows:
    row: PaymentRow = _locked(session, "payment", values["payment"])
    if row.intent not in (None, values["intent"]):
        return []
    row = row._replace(intent=values["intent"])
    session.put("payment", values["payment"], row)
    return [_columns(values["payment"], row)]


# --- settling ---


def _read(session: Session, values: Values) -> Rows:
    found = [(no, session.get("payment", no)) for no in sorted(set(values["payments"]))]
    policy = "refund" if session.get("event", ONE).state == "closed" else session.database.late_payment
    return [
        (no, ONE, row.hold, row.order, row.buyer, row.provider, row.intent, row.reason, row.currency,
         row.amount, row.quantity, row.seats, row.charged, row.state, policy)
        for no, row in found if row is not None
    ]  # fmt: skip


def _seen(session: Session, values: Values) -> Rows:
    keys = zip(values["providers"], values["notices"], strict=True)
    return [(*key, row) for key in keys if (row := session.get("payment_notice", key)) is not None]


def _remember(session: Session, values: Values) -> Rows:
    told: Rows = []
    keys = zip(values["providers"], values["notices"], strict=True)
    for key, payment in zip(keys, values["payments"], strict=True):
        session.lock("payment_notice", key, 1.0)
        if session.get("payment_notice", key) is None:
            session.put("payment_notice", key, payment)
            told.append(())
    return told


def _lock_holds(session: Session, values: Values) -> Rows:
    found: Rows = []
    for number in sorted(set(values["holds"])):
        row: HoldRow = _locked(session, "hold", number)
        runs = row.expires_at > session.database.run_by()
        found.append((ONE, number, row.buyer, row.state, row.quantity, runs))
    return found


def _pay(session: Session, values: Values) -> Rows:
    paid: Rows = []
    for number, buyer in zip(values["holds"], values["buyers"], strict=True):
        row: HoldRow = session.get("hold", number)
        if (row.state, row.buyer) == ("active", buyer):
            session.put("hold", number, row._replace(state="paid"))
            paid.append(())
    return paid


def _held(session: Session, values: Values) -> list[tuple[int, int]]:
    """(seat, hold), by seat, of those that the holds have."""
    each = sorted(zip(values["seats"], values["holds"], strict=True))
    return [(seat, hold) for seat, hold in each if session.get("seat", seat) == ("held", hold)]


def _lock_seats(session: Session, values: Values) -> Rows:
    for seat, _ in _held(session, values):
        session.lock("seat", seat, 1.0)
    return [(1,) for _ in _held(session, values)]


def _sell_seats(session: Session, values: Values) -> Rows:
    sold = _held(session, values)
    for seat, hold in sold:
        session.put("seat", seat, ("sold", hold))
        session.remember(seat, "sold", hold, "buyer")
    return [() for _ in sold]


def _lock_areas(session: Session, values: Values) -> Rows:
    for area in sorted(set(values["areas"])):
        session.lock("area", area, 1.0)
    return []


def _sell_places(session: Session, values: Values) -> Rows:
    for area, count in zip(values["areas"], values["places"], strict=True):
        row: AreaRow = session.get("area", area)
        assert row.held >= count, "the CHECK on area keeps counters from going below nothing"
        session.put("area", area, row._replace(held=row.held - count, sold=row.sold + count))
    return [()] * len(set(values["areas"]))


def _insert_facts(session: Session, values: Values) -> Rows:
    for hold in values["holds"]:
        session.insert("fact", session.database.next_fact(), FactRow(values["kind"], hold, "null"))
    return []


_CHANGED = ("payments", "were", "states", "orders", "intents", "reasons", "declined", "money")


def _change(session: Session, values: Values) -> Rows:
    changed: Rows = []
    for number, was, state, order, intent, reason, declined, money in sorted(
        zip(*[values[name] for name in _CHANGED], strict=True)
    ):
        row: PaymentRow = _locked(session, "payment", number)
        if row.state != was:
            continue
        row = row._replace(state=str(state), order=row.order or order, intent=row.intent or intent)
        row = row._replace(reason=reason or row.reason, declines=row.declines + declined)
        if money and row.succeeded_at is None:
            row = row._replace(succeeded_at=session.database.clock())
        session.put("payment", number, row._replace(due=row.amount if state == "refund_due" else row.due))
        changed.append(())
    return changed


def _refund(session: Session, payment: int, amount: int, reason: str) -> int:
    session.database.last_refund += 1
    row = RefundRow(payment, amount, reason, session.world.now_us)
    session.insert("refund", session.database.last_refund, row)
    return session.database.last_refund


def _owe_all(session: Session, values: Values) -> Rows:
    for owed in zip(values["payments"], values["amounts"], values["reasons"], strict=True):
        _refund(session, *owed)
    return []


# --- what came late, and what nobody may finish ---


def _find_late(session: Session, values: Values) -> Rows:
    found = _all(session, "payment")
    return [(no, "gala") for no, row in found if row.state == "late" and no > values["after"]]


def _is_over(session: Session, values: Values) -> Rows:
    if session.get("event", ONE).state != "closed":
        return []
    session.lock("cursor", ONE, 1.0)
    return [(1,)]


def _decisions(session: Session, values: Any) -> Rows:
    asked = set(zip(*values[:2], strict=True))
    return [
        (row.buyer, row.request_id, row.input, row.arrival, row.outcome, row.result)
        for row in session.database.rows["ledger"].values()
        if row.kind == "request" and row.outcome != "conflict" and (row.buyer, row.request_id) in asked
    ]


def _cancel(session: Session, values: Any) -> Rows:
    over = session.database.run_by() - OUTAGE_SECONDS * SECOND
    canceled: Rows = []
    for number, row in list(_all(session, "payment")):
        hold: HoldRow = session.get("hold", row.hold)
        runs = hold.state == "active" and hold.quantity == row.quantity and hold.expires_at > over
        if row.state in OPEN and not runs:
            canceled += [()] if _cancel_one(session, {"payment": number}) == [] else []
    return canceled


# --- what goes back ---


def _lock_of_order(session: Session, values: Values) -> Rows:
    for number, row in list(_all(session, "payment")):
        if row.order == values["hold"] and row.state == "succeeded":
            row = _locked(session, "payment", number)
            return [(number, row.amount - row.given - row.due, row.charged)]
    return []


def _owe(session: Session, values: Values) -> Rows:
    row: PaymentRow = _locked(session, "payment", values["payment"])
    due = row.due + values["amount"]
    state = "refund_due" if due + row.given == row.amount else row.state
    session.put("payment", values["payment"], row._replace(due=due, state=state, reason=values["reason"]))
    return []


def _insert_refund(session: Session, values: Values) -> Rows:
    return [(_refund(session, values["payment"], values["amount"], values["reason"]),)]


def _take(session: Session, values: Values) -> Rows:
    now = session.world.now_us  # where Postgres' clock jumps back, refunds only wait
    taken: Rows = []
    for number, row in list(_all(session, "refund")):
        free = session.database.locks.get((session.database.number, "refund", number)) in (None, session)
        if row.state == "due" and row.next_at <= now and free and len(taken) < values["limit"]:
            session.lock("refund", number, 1.0)
            session.put("refund", number, row._replace(next_at=now + TAKEN_SECONDS * SECOND))
            paid: PaymentRow = session.get("payment", row.payment)
            whose = (number, row.payment, ONE, "gala", paid.provider, paid.intent, paid.buyer)
            taken.append((*whose, row.amount, paid.currency, row.reason, 1))
    return taken


def _lock_payment(session: Session, values: Values) -> Rows:
    return [(ONE, _locked(session, "payment", values["payment"]).order)]


def _given(session: Session, values: Values) -> Rows:
    row: RefundRow = _locked(session, "refund", values["refund"])
    if row.state != "due":
        return []
    session.put("refund", values["refund"], row._replace(state="refunded"))
    return [()]


def _payment_given(session: Session, values: Values) -> Rows:
    row: PaymentRow = _locked(session, "payment", values["payment"])
    row = row._replace(due=row.due - values["amount"], given=row.given + values["amount"])
    state = "refunded" if row.given == row.amount else row.state
    session.put("payment", values["payment"], row._replace(state=state))
    return [()]


PAYMENTS = {
    begin.LOCK_HOLD: ("lock hold to pay for", _lock_hold),
    begin.FIND_OPEN: ("find open payment", _find_open),
    begin.CANCEL: ("cancel payment", _cancel_one),
    begin.INSERT: ("insert payment", _insert),
    begin.ATTACH: ("attach intent", _attach),
    lookups.READ_MOVES: ("read moves", lambda session, values: []),
    lookups.DECISIONS: ("read decisions", _decisions),
    records.READ: ("read payments", _read),
    records.CHANGE: ("change payments", _change),
    records.OWE: ("owe what came in", _owe_all),
    settle.SEEN: ("look for notices", _seen),
    settle.REMEMBER: ("remember notices", _remember),
    buying.LOCK_HOLDS: ("lock holds that were paid for", _lock_holds),
    buying.PAY: ("pay holds", _pay),
    buying.LOCK_SEATS: ("lock seats that were paid for", _lock_seats),
    buying.SELL_SEATS: ("sell seats that were paid for", _sell_seats),
    buying.LOCK_AREAS: ("lock areas that were paid for", _lock_areas),
    buying.SELL_PLACES: ("sell places that were paid for", _sell_places),
    buying.INSERT_FACTS: ("insert facts of orders", _insert_facts),
    late.FIND_LATE: ("find late payments", _find_late),
    late.IS_OVER: ("lock the cursor of a closed event", _is_over),
    ending.CANCEL: ("cancel payments", _cancel),
    refunds.LOCK_OF_ORDER: ("lock the payment", _lock_of_order),
    refunds.OWE: ("owe", _owe),
    refunds.INSERT: ("insert refund", _insert_refund),
    refunds.TAKE: ("take refunds", _take),
    refunds.LOCK_PAYMENT: ("lock a refund's payment", _lock_payment),
    refunds.GIVEN: ("refund given", _given),
    refunds.PAYMENT_GIVEN: ("payment given back", _payment_given),
}
