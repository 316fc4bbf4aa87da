"""Faults in what the page does and says about payments."""

from __future__ import annotations

from tests.mutants.mutant import In, Kind, Mutant

PAYING = "tests/browser/test_paying.py"
RECOVERY = "tests/browser/test_paying_recovery.py"
begin = In("gateway/pages/static/core/paybegin.js")
payments = In("gateway/pages/static/core/payments.js")
paying = In("gateway/pages/static/core/paying.js")
desk = In("gateway/pages/static/core/desk.js")

MUTANTS: list[Mutant] = [
    begin(
        Kind.DEDUPE,
        "a page that is impatiently pressed begins one payment",
        "    if (this.leaving || this.asking.has(payment)) return;\n",
        "    this.asking.delete(payment);\n",
        f"{RECOVERY}::test_two_presses_begin_one_payment",
    ),
    begin(
        Kind.ASK_AGAIN,
        "a payment whose beginning was not answered is begun again under the same key",
        "    if (!payment.key) Object.assign(payment, { key: newKey(), email });",
        "    Object.assign(payment, { key: newKey(), email });",
        f"{RECOVERY}::test_a_provider_that_is_away_is_asked_again_for_a_while_and_then_when_the_buyer_says",
    ),
    begin(
        Kind.BOUND,
        "a page does not ask for ever whether it can pay",
        "      if (payment.stuck) break;\n",
        "",
        f"{RECOVERY}::test_a_provider_that_is_away_is_asked_again_for_a_while_and_then_when_the_buyer_says",
    ),
    begin(
        Kind.CONDITION,
        "nobody is sent to pay another price than the one shown",
        '      if (going && stageInHold(payment, false) !== "price") this.go(payment);',
        "      if (going) this.go(payment);",
        f"{RECOVERY}::test_another_price_than_the_one_shown_is_said_before_anybody_goes_to_pay_it",
    ),
    payments(
        Kind.CONDITION,
        "what became of a payment is not taken back by a word that was long on its way",
        "  if (same && ORDER.indexOf(told.state) < ORDER.indexOf(before)) return;\n",
        "",
        f"{RECOVERY}::test_a_word_that_was_long_on_its_way_takes_nothing_back",
    ),
    payments(
        Kind.CONDITION,
        "a card is not said to be declined while another try is not answered",
        ' || (state === "failed" && declines === declines_then));',
        ");",
        f"{PAYING}::test_after_another_try_the_card_is_not_said_to_be_declined_before_the_provider_says_so",
    ),
    payments(
        Kind.ORIGIN,
        "only a page is gone to for paying",
        'return ["https:", "http:"].includes(new URL(url).protocol) ? url : "";',
        "return url;",
        f"{RECOVERY}::test_only_a_page_is_gone_to",
    ),
    paying(
        Kind.EXPIRY,
        "of money that may be on its way it is not said that nothing was paid",
        '    return hold.state === "expired" && mayBePaid(payment);\n',
        "    return false;\n",
        f"{PAYING}::test_time_that_runs_out_while_paying_is_told_as_it_is_known",
    ),
    desk(
        Kind.ASK_AGAIN,
        "half an answer about a payment is none",
        "      if (answer.ok && !isPayment(body)) return NONE; // half of an answer, or somebody else's\n",
        "",
        f"{RECOVERY}::test_half_an_answer_or_somebody_elses_is_none",
    ),
]
