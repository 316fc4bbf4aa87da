"""Erasing buyers: records of it, and the one way in which rows of the ledger and of the audit may change."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0021"
down_revision = "0020"
branch_labels = None
depends_on = None

# A transaction that erases says so with its own number; nothing that is left in a session, and no other
# transaction, can say it by mistake.
REFUSE_OTHER_CHANGE = """
CREATE FUNCTION refuse_change_but_erasure() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'UPDATE' AND current_setting('onsale.erasing', true) = pg_current_xact_id()::text THEN
        RETURN NULL;
    END IF;
    RAISE EXCEPTION '% is append-only: % is refused', TG_TABLE_NAME, TG_OP
        USING ERRCODE = 'restrict_violation',
              HINT = 'Rows are written once; add a new row that says what changed.';
END
$$
"""
# Of a row nothing but whose it is; of an event that is over; and with its record, by which `verify` knows it.
# Other transactions are refused by the statement's trigger, unless a superuser has switched it off.
ONLY_ERASE_LEDGER = """
CREATE FUNCTION only_erase_ledger() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF current_setting('onsale.erasing', true) IS DISTINCT FROM pg_current_xact_id()::text THEN
        RETURN NEW;
    END IF;
    IF (NEW.event_id, NEW.batch_no, NEW.position, NEW.kind, NEW.arrival, NEW.request_id, NEW.outcome,
        NEW.result::text)
       IS DISTINCT FROM
       (OLD.event_id, OLD.batch_no, OLD.position, OLD.kind, OLD.arrival, OLD.request_id, OLD.outcome,
        OLD.result::text)
       OR NEW.kind <> 'fact' AND NEW.input::text IS DISTINCT FROM OLD.input::text
       OR concat(NEW.buyer, NEW.input::text) !~ 'erased:[0-9a-f]{32}'
       OR NOT EXISTS (SELECT FROM event WHERE id = OLD.event_id AND state = 'closed')
       OR NOT EXISTS (SELECT FROM ledger_erasure AS kept
                       WHERE kept.event_id = OLD.event_id AND kept.batch_no = OLD.batch_no
                         AND kept.position = OLD.position)
    THEN
        RAISE EXCEPTION 'a row of the ledger changes only in whose it is, with a record of that'
            USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NEW;
END
$$
"""
ONLY_ERASE_AUDIT = """
CREATE FUNCTION only_erase_audit() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF current_setting('onsale.erasing', true) IS DISTINCT FROM pg_current_xact_id()::text THEN
        RETURN NEW;
    END IF;
    IF (NEW.id, NEW.event_id, NEW.at, NEW.who, NEW.why)
       IS DISTINCT FROM (OLD.id, OLD.event_id, OLD.at, OLD.who, OLD.why)
       OR NEW.what::text !~ 'erased:[0-9a-f]{32}'
    THEN
        RAISE EXCEPTION 'a row of the audit changes only in which buyer it names'
            USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NEW;
END
$$
"""
APPEND_ONLY = """
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON {table}
    FOR EACH STATEMENT EXECUTE FUNCTION {function}()
"""
ONLY_ERASES = """
CREATE TRIGGER only_erases BEFORE UPDATE ON {table} FOR EACH ROW EXECUTE FUNCTION only_erase_{table}()
"""


def upgrade() -> None:
    op.create_table(
        "buyer_erasure",
        sa.Column("event_id", sa.Integer(), primary_key=True, autoincrement=False),
        sa.Column("pseudonym", sa.Text(), primary_key=True),
        _at(),
        sa.Column("audit_id", sa.BigInteger(), nullable=False, comment="who erased it, and why"),
        comment="buyers whose data were erased, by what stands for them since; append-only",
    )
    op.create_table(
        "ledger_erasure",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), primary_key=True),
        sa.Column("event_id", sa.Integer(), nullable=False),
        sa.Column("batch_no", sa.BigInteger(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column(
            "digest",
            sa.LargeBinary(),
            nullable=False,
            comment="of the row as it is since; of several the last",
        ),
        _at(),
        sa.Column("audit_id", sa.BigInteger(), nullable=False),
        comment="rows of the ledger in which a pseudonym stands for a buyer; append-only",
    )
    op.create_index("ledger_erasure_row", "ledger_erasure", ["event_id", "batch_no", "position"])
    for table in ("payment", "place"):
        op.create_index(
            f"{table}_email", table, [sa.text("lower(email)")], postgresql_where=sa.text("email IS NOT NULL")
        )
    op.create_index("mail_address", "mail", [sa.text("lower(address)")])
    for table in ("buyer_erasure", "ledger_erasure"):
        op.execute(APPEND_ONLY.format(table=table, function="refuse_change"))
    op.execute(REFUSE_OTHER_CHANGE)
    op.execute(ONLY_ERASE_LEDGER)
    op.execute(ONLY_ERASE_AUDIT)
    for table in ("ledger", "audit"):
        op.execute(f"DROP TRIGGER append_only ON {table}")
        op.execute(APPEND_ONLY.format(table=table, function="refuse_change_but_erasure"))
        op.execute(ONLY_ERASES.format(table=table))


def _at() -> sa.Column[object]:
    return sa.Column(
        "at", sa.DateTime(timezone=True), nullable=False, server_default=sa.text("clock_timestamp()")
    )
