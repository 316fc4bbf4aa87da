"""Whatever is done around a payment, in whatever order and however often: seats for the money, or the money.

Hypothesis makes up histories (`tests.payments_model.machine`), `tests.payments_model.reference` says what
must become of them. Run it for long with `HYPOTHESIS_PROFILE=long`.
"""

from __future__ import annotations

import pytest
from hypothesis.stateful import run_state_machine_as_test

from tests.payments_model.going_back import seen
from tests.payments_model.histories import REACHED
from tests.payments_model.machine import Paying
from tests.profiles import searching

EXAMPLES = 9
STEPS = 25


def test_money_has_its_seats_or_goes_back_whatever_happens(house):
    seen.clear()
    run_state_machine_as_test(Paying, settings=searching(EXAMPLES, stateful_step_count=STEPS))
    often = {"begin begun", "notice succeeded", "notice late", "notice refund_due", "refund given"}
    missing = often - seen.keys()  # the histories below reach everything for sure
    assert not missing, f"never happened: {sorted(missing)}; what did: {dict(seen)}"


@pytest.mark.parametrize("reacquire", [True, False], ids=["late money asks again", "late money goes back"])
def test_histories_of_everything_that_can_happen(house, reacquire):
    """What a random history seldom reaches is reached by these, whatever the others do."""
    for history, reached in REACHED.items():
        seen.clear()
        sale = Paying()
        sale.made(reacquire)
        for step in history(sale):
            step()
            sale.truth.is_the_models()
        sale.truth.keeps_the_laws()
        sale.teardown()
        missing = reached - seen.keys()
        missing |= {"late succeeded", "late refund_due"} - seen.keys() if reacquire else set()
        assert not missing, f"never happened: {sorted(missing)}; what did: {dict(seen)}"
