"""Faults in the page where a hold is paid by Stripe, and in who is sent there."""

from __future__ import annotations

from tests.mutants.mutant import In, Kind, Mutant

PAGE = "tests/browser/test_stripe_page.py"
SERVED = "tests/browser/test_served.py"
TELLING = "tests/gateway/payments/test_telling.py"
till = In("gateway/pages/static/pay/till.js")
page = In("gateway/pages/static/pay/page.js")
paying = In("gateway/pages/static/core/paying.js")
served = In("gateway/pages/__init__.py")
settings = In("gateway/settings.py")
desk = In("gateway/payments/desk.py")

MUTANTS: list[Mutant] = [
    till(
        Kind.DEDUPE,
        "a form that is impatiently pressed pays once",
        'if (this.state.busy || this.state.form !== "there") return;',
        'if (this.state.form !== "there") return;',
        f"{PAGE}::test_two_presses_pay_once",
    ),
    till(
        Kind.COMMIT,
        "a try of which nothing was heard is not said to have failed",
        "CAN_BE_MENDED.has(error.type) ? words.refused(error) : words.unheard()",
        "words.refused(error)",
        f"{PAGE}::test_where_it_is_not_known_whether_it_was_paid_the_server_says_it",
    ),
    till(
        Kind.CONDITION,
        "what was paid or called off meanwhile is not asked for again",
        "    if (!body.checkout?.client_secret || ",
        "    if (",
        f"{PAGE}::test_where_it_is_not_known_whether_it_was_paid_the_server_says_it",
    ),
    page(
        Kind.EXPIRY,
        "who seems to hold nothing any more is not asked to pay",
        "  const over = left_ms === 0 && !busy;\n",
        "  const over = false;\n",
        f"{PAGE}::test_when_its_time_is_over_nobody_is_asked_to_pay",
    ),
    paying(
        Kind.TOKEN,
        "the secret of an intent does not stay in the address",
        '"payment_intent_client_secret", ',
        "",
        f"{PAGE}::test_a_hold_is_paid_and_becomes_an_order",
    ),
    served(
        Kind.ORIGIN,
        "only the page to pay on allows Stripe",
        "    page.headers.update(_WITH_STRIPE)\n",
        "    page.headers.update(_WITH_STRIPE)\n    _SECURITY_HEADERS.update(_WITH_STRIPE)\n",
        f"{SERVED}::test_only_the_page_to_pay_on_allows_stripe_and_nobody_else",
    ),
    served(
        Kind.ORIGIN,
        "without Stripe no page allows it",
        "    if not name or not settings.stripe_page:\n",
        "    if not name:\n",
        f"{SERVED}::test_without_stripe_there_is_no_page_to_pay_on",
    ),
    settings(
        Kind.CONDITION,
        "Stripe's page is there where Stripe is who is paid",
        'return self.provider == "stripe" and bool(self.stripe_publishable_key)',
        "return bool(self.stripe_publishable_key)",
        f"{SERVED}::test_without_stripe_there_is_no_page_to_pay_on",
    ),
    desk(
        Kind.CONDITION,
        "buyers are sent to a page of ours only where it is there",
        '        if provider.name != "stripe" or not self._stripe_page:\n',
        '        if provider.name != "stripe":\n',
        f"{TELLING}::test_only_who_is_paid_by_stripe_is_given_a_page_of_ours",
    ),
]
