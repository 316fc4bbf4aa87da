"""Faults in how notices come in fast, and in how many are settled and told of together."""

from __future__ import annotations

from tests.mutants.mutant import In, Kind, Mutant

SETTLE = "tests/store/payments/test_settle.py"
NOTICES = "tests/gateway/payments/test_notices.py"
TELLING = "tests/gateway/payments/test_telling.py"

ASKED = "    ON hold.event_id = asked.event_id AND hold.hold_id = asked.hold_id\n"

short = In("gateway/http_protocol.py")
settle = In("store/payments/settle.py")
buying = In("store/payments/buying.py")
wire = In("store/wire.py")
telling = In("gateway/payments/telling.py")

MUTANTS: list[Mutant] = [
    short(
        Kind.BOUND,
        "a notice that says it is too large does not go the short way",
        " and 0 < notices.told_length(self.headers) <= notices.BODY_BYTES_MAX:",
        " and notices.told_length(self.headers):",
        f"{NOTICES}::test_a_megabyte_of_json_is_refused_before_it_is_read",
    ),
    short(
        Kind.CONDITION,
        "a notice whose path says more than its provider goes the stock way",
        "            if self._runtime.payments.notices.knows(provider):\n",
        "            if provider:\n",
        f"{NOTICES}::test_a_notice_whose_address_has_a_query_is_heard_too",
    ),
    settle(
        Kind.CONDITION,
        "a payment that changed since it was read is read anew",
        "            known = None\n",
        "",
        f"{SETTLE}::test_a_payment_that_changes_after_it_was_read_is_read_anew",
    ),
    buying(
        Kind.CONDITION,
        "holds that are paid for are found by event and number",
        "       hold.expires_at > (SELECT {RUN_BY} FROM event WHERE event.id = hold.event_id)\n",
        "       hold.expires_at > {RUN_BY}\n",
        "tests/store/test_hold_plans.py::test_one_hold_is_found_by_its_number[looked at-nothing known]",
        more=((ASKED, f"{ASKED}  JOIN event ON event.id = hold.event_id\n"),),
    ),
    wire(
        Kind.CONDITION,
        "sockets elsewhere hear of all that changed in one moment",
        "        yield from self.more\n",
        "",
        f"{TELLING}::test_a_gateway_that_does_not_serve_the_event_tells_the_one_where_the_buyer_is",
    ),
    telling(
        Kind.BOUND,
        "one message to other gateways has a bound",
        "told[start : start + NEWS_MAX]",
        "told[start:]",
        f"{TELLING}::test_many_that_changed_are_told_in_messages_with_a_bound",
    ),
]
