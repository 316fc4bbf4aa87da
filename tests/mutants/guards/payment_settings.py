"""Faults in how gateways and chores come to know the same payment providers, and who notices."""

from __future__ import annotations

from tests.mutants.mutant import In, Kind, Mutant

RECONCILE = "tests/onsale/chores/test_reconcile.py"
FOUND = "tests/onsale/chores/test_payment_findings.py"
TELLING = "tests/gateway/payments/test_telling.py"
HALF = f"{TELLING}::test_a_provider_that_is_half_set_up_is_refused_at_the_start"
ONLY_GATEWAYS = f"{RECONCILE}::test_payments_with_a_provider_that_only_gateways_know_are_told"
settings = In("gateway/settings.py")
desk = In("gateway/payments/desk.py")
reconcile = In("onsale/chores/reconcile.py")
needed = In("store/payments/needed.py")
chores = In("onsale/chores/__main__.py")
findings = In("onsale/payment_findings.py")

MUTANTS: list[Mutant] = [
    settings(
        Kind.TOKEN,
        "a secret key is not told to everybody as the publishable one",
        '        if told and not told.startswith("pk_"):\n',
        "        if not told.isprintable():\n",
        HALF,
    ),
    settings(
        Kind.TOKEN,
        "keys for tests and keys for money are not mixed",
        '("_test_" in told) != ("_test_" in self.stripe_key)',
        "told == self.stripe_key",
        HALF,
    ),
    desk(
        Kind.BOUND,
        "that nobody is paid is said once for each event",
        "        if event not in self._unpaid:\n",
        "        if True:\n",
        f"{TELLING}::test_where_nobody_is_paid_no_payment_is_begun",
    ),
    reconcile(
        Kind.CHECKER,
        "payments whose provider only gateways know are told by the chores",
        "        if name not in known:\n",
        "        if not name:\n",
        ONLY_GATEWAYS,
    ),
    reconcile(
        Kind.CHECKER,
        "a sale for money where chores have no provider is told before anybody pays",
        "    if selling and not known:\n",
        "    if not selling and not known:\n",
        f"{RECONCILE}::test_a_sale_for_money_where_no_provider_is_configured_is_told_before_anybody_pays",
    ),
    needed(
        Kind.CHECKER,
        "intents that are yet to be ended need their provider",
        "('canceled', 'created', 'failed')",
        "('created', 'failed')",
        ONLY_GATEWAYS,
    ),
    needed(
        Kind.CHECKER,
        "refunds that are due need their provider",
        "refund.state = 'due'",
        "refund.state = 'lost'",
        f"{RECONCILE}::test_money_that_is_due_by_a_provider_that_only_gateways_know_is_told",
    ),
    chores(
        Kind.CONDITION,
        "chores do not start with payment settings that no gateway starts with",
        "        payment_settings()\n",
        "",
        f"{FOUND}::test_chores_do_not_start_with_settings_that_no_gateway_has",
    ),
    findings(
        Kind.CHECKER,
        "the doctor sees an event for money with nobody to pay",
        "    if provider or not events:\n",
        "    if True:\n",
        f"{FOUND}::test_an_event_for_money_and_nobody_to_pay_needs_a_hand",
    ),
]
