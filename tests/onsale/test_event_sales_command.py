"""`event sell`, `return`: what is typed and what is answered."""

from __future__ import annotations

from store.words import OPERATORS_HOLDS
from tests.onsale import test_event_seats_command
from tests.onsale.test_event_seats_command import FLOOR, GUID, WHY, told
from tests.store.test_holds import PLAN

conn, event = test_event_seats_command.conn, test_event_seats_command.event
ORDER = str(OPERATORS_HOLDS)
TO = ("--to", "bob", *WHY)


def test_seats_and_places_are_sold_to_somebody_and_taken_back(event):
    words = ("sell", "gig", GUID[0], "--area", f"{FLOOR}=5", "--as", "box-office", *TO)
    for _ in range(2):
        code, out, _ = event(*words)
        assert (code, out) == (0, f"Order {ORDER} of bob (box-office): {GUID[0]} and {FLOOR} 5.\n")
    shown = told(event, "show", "gig")
    assert (shown["seats"]["sold"], shown["areas"][0]["sold"]) == (1, 5)
    code, out, _ = event("return", "gig", ORDER, "--area", f"{FLOOR}=2", "--of", "6", *WHY)
    assert (code, out) == (0, f"Order {ORDER} of bob is paid; it still has {GUID[0]} and {FLOOR} 3.\n")
    code, out, _ = event("return", "gig", ORDER, "--seats", GUID[0], "--block", *WHY)
    assert (code, out) == (0, f"Order {ORDER} of bob is paid; it still has {FLOOR} 3.\n")
    code, out, _ = event("return", "gig", ORDER, *WHY)
    assert (code, out) == (0, f"Order {ORDER} of bob is refunded.\n")
    shown = told(event, "show", "gig")
    assert (shown["seats"]["sold"], shown["seats"]["blocked"], shown["areas"][0]["sold"]) == (0, 1, 0)


def test_scripts_get_the_order_and_people_read_who_sold_what_to_whom(event):
    made = told(event, "sell", "gig", GUID[0], "--as", "complimentary", *TO)
    assert (made["hold"], made["kind"], made["seats"]) == (ORDER, "complimentary", [GUID[0]])
    assert told(event, "return", "gig", ORDER, *WHY)["state"] == "refunded"
    _, out, _ = event("audit", "gig")
    assert f"sell {GUID[0]} (order {ORDER} of bob, complimentary)" in out
    assert f"return {GUID[0]} (hold {ORDER} of bob)" in out


def test_what_cannot_be_is_said_in_one_line_and_is_a_failure(event):
    event("block", "gig", GUID[0], *WHY)
    told(event, "sell", "gig", GUID[0], "--as", "box-office", *TO)
    for words, said in (
        (("sell", "gig", GUID[0], "--as", "complimentary", *TO), f"Somebody has {GUID[0]} (sold by hold"),
        (("sell", "gig", "--as", "complimentary", *TO), "Name at least one"),
        (("return", "gig", ORDER, "--area", f"{FLOOR}=2", *WHY), "Say how many"),
        (("return", "gig", ORDER, "--seats", GUID[1], *WHY), "The order has not"),
        (("return", "gig", "77", *WHY), "no such order"),
    ):
        code, out, err = event(*words)
        assert (code, out) == (1, "")
        assert said in err.replace("\n", " ")


def test_prices_are_settled_and_shown_and_fixed_once_the_sale_began(event, conn):
    assert "Fee of each seat 0.00 EUR and 0 % of the price; tax 0 %" in event("prices", "gig")[1]
    conn.execute("UPDATE event SET state = 'draft'")
    tax = ("--tax-percent", "19", "--tax", "added")
    words = ("prices", "gig", "--fee", "1.50", "--fee-percent", "2.5", *tax)
    code, out, err = event(*words)
    assert (code, out) == (1, "")
    assert "Say why" in err
    made = told(event, *words, *WHY)
    assert made["terms"] == {
        "fee_minor": 150,
        "fee_basis_points": 250,
        "tax_basis_points": 1900,
        "tax_included": False,
    }
    assert told(event, "prices", "gig") == made
    conn.execute("UPDATE event SET state = 'open'")
    for command in ("prices", "show"):
        said = "Fee of each seat 1.50 EUR and 2.5 % of the price; tax 19 %, on top."
        assert said in event(command, "gig")[1]
    assert "prices: Fee of each seat 150" in event("audit", "gig")[1]
    for again, said in (
        (("--fee", "2"), "fees and tax stay"),
        (("--fee", "x"), "must be an amount"),
        (("--tax-percent", "101"), "must be 0 to 100"),
        (("--fee-percent", "1.234"), "must be 0 to 100"),
    ):
        code, _, err = event("prices", "gig", *again, *WHY)
        assert code == 1
        assert said in err.replace("\n", " ")


def test_categories_are_moved_before_the_sale_and_while_it_runs(event, conn):
    to = PLAN.categories[0].name
    words = ("recategorise", "gig", GUID[7], "--to", to, *WHY)
    conn.execute("UPDATE event SET state = 'draft'")
    code, out, _ = event(*words)
    assert (code, out) == (0, f"{to} now: {GUID[7]}\n")
    assert told(event, *words)["seats"] == [GUID[7]]
    conn.execute("UPDATE event SET state = 'open'")
    other = next(seat.guid for seat in PLAN.seats if seat.category and seat.guid != GUID[7])
    assert told(event, "recategorise", "gig", other, "--to", to, *WHY)["version"] == 1
    assert conn.execute("SELECT kind FROM fact ORDER BY id DESC LIMIT 1").fetchall() == [("recategorised",)]
    conn.execute("UPDATE event SET state = 'closed'")
    code, _, err = event(*words[:2], GUID[5], *words[3:])
    assert code == 1
    assert "are settled" in err
