"""How many the waiting room lets in: pace, bound inside, lanes, slowing down, no-shows; and the rate."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from allocator import admission
from allocator.admission import BURST_SECONDS, FACTOR_LEAST, STEP_MAX, Called, Seen, decide, spent
from store.room.words import Admission, SlowedBy
from store.words import Micros

SECOND = 1_000_000


def seen(**told: Any) -> Seen:
    """A room that runs well, where many wait and the pace is 60 a minute."""
    usual: dict[str, Any] = {
        "paused": False, "admission": Admission.RUNNING, "pace": 60, "shopping_max": None,
        "now": Micros(10 * SECOND), "decided_at": Micros(9 * SECOND), "credit": 0.0, "factor": 1.0,
        "reason": None, "admitted": 0, "inside": 0, "no_shows": 0, "returners": 0, "priority": 0,
        "ordinary": 1_000, "lag_seconds": 0.0, "failed_share": None,
    }  # fmt: skip
    return Seen(**usual | told)


def test_at_the_pace_as_many_are_called_as_the_time_that_went_by_allows():
    assert decide(seen()).ordinary == 1
    assert decide(seen(pace=6_000)).ordinary == 100
    assert decide(seen(decided_at=Micros(10 * SECOND - 100_000), credit=0.8)).called == 0
    assert decide(seen(decided_at=Micros(10 * SECOND - 100_000), credit=0.95)).called == 1


def test_what_the_pace_allowed_and_nobody_used_is_kept_for_a_few_seconds_at_most():
    long_ago = seen(now=Micros(10_000 * SECOND), pace=600)
    assert decide(long_ago).ordinary == 10 * BURST_SECONDS
    assert decide(seen(now=Micros(10_000 * SECOND), pace=1)).ordinary == 1


def test_a_clock_that_went_back_gives_and_takes_nothing():
    early = decide(seen(decided_at=Micros(11 * SECOND), credit=2.5))
    assert (early.ordinary, early.credit) == (2, 2.5)


def test_credit_is_spent_by_who_was_there_to_be_called():
    decision = decide(seen(pace=600))
    assert decision.ordinary == 10
    assert spent(decision, 600, 4) == pytest.approx(6)
    assert spent(decision, None, 4) == 0


def test_one_goes_and_one_comes():
    assert decide(seen(pace=None, shopping_max=50, inside=49)).called == 1
    assert decide(seen(pace=None, shopping_max=50, inside=50)).called == 0
    assert decide(seen(pace=None, shopping_max=50, inside=70)).called == 0
    assert decide(seen(pace=None, shopping_max=50, inside=0, ordinary=20)).called == 20


def test_the_stricter_of_pace_and_bound_counts_and_is_named():
    both = decide(seen(pace=600, shopping_max=50, inside=47))
    assert (both.called, both.reason) == (3, SlowedBy.FULL_INSIDE)
    both = decide(seen(pace=60, shopping_max=50, inside=10))
    assert (both.called, both.reason) == (1, None)


def test_where_neither_is_said_all_are_called_a_bounded_number_at_a_time():
    assert decide(seen(pace=None, ordinary=10 * STEP_MAX)).called == STEP_MAX
    assert decide(seen(pace=None, ordinary=7)).called == 7


def test_nobody_is_owed_anything_where_nobody_waits():
    assert decide(seen(ordinary=0)).reason is None
    assert decide(seen(ordinary=0, shopping_max=5, inside=5)).reason is None


def test_an_admission_that_nobody_used_comes_back():
    assert decide(seen(no_shows=4)).called == 5
    assert decide(seen(no_shows=4, credit=3.0, pace=6)).called == 7
    assert decide(seen(pace=None, shopping_max=10, inside=6, no_shows=4)).called == 4


def test_paused_nobody_is_called_and_what_was_credited_stays():
    for told in ({"admission": Admission.PAUSED}, {"paused": True}):
        decision = decide(seen(credit=2.0, no_shows=1, **told))
        assert (decision.called, decision.reason, decision.credit) == (0, SlowedBy.PAUSED, 3.0)
    assert decide(seen(admission=Admission.STOPPED)).reason is SlowedBy.STOPPED
    assert decide(seen(admission=Admission.STOPPED, paused=True)).reason is SlowedBy.STOPPED


def test_who_returns_goes_first_and_the_lanes_take_turns():
    decision = decide(seen(pace=600, returners=3, priority=100))
    assert (decision.returners, decision.priority, decision.ordinary) == (3, 4, 3)
    decision = decide(seen(pace=600, priority=2))
    assert (decision.priority, decision.ordinary) == (2, 8)
    decision = decide(seen(pace=600, priority=100, ordinary=1))
    assert (decision.priority, decision.ordinary) == (9, 1)
    decision = decide(seen(pace=600, returners=100))
    assert (decision.returners, decision.called) == (10, 10)


@pytest.mark.parametrize("at_once", [1, 2, 3, 7])
@pytest.mark.parametrize("returns", [0, 1])
def test_however_slowly_it_goes_the_priority_lane_has_half_and_no_more(at_once: int, returns: int):
    called = [0, 0]
    for _ in range(100):
        many = at_once + returns
        told = seen(pace=60 * many, admitted=sum(called), returners=returns, priority=10**6, ordinary=10**6)
        decision = decide(told)
        assert decision.called == many
        called[0] += decision.priority
        called[1] += decision.ordinary
    assert abs(called[0] - called[1]) <= 1


def test_when_requests_wait_it_slows_down_says_so_and_recovers():
    slow = decide(seen(pace=6_000, lag_seconds=5.0))
    assert slow.reason is SlowedBy.LAG
    assert FACTOR_LEAST < slow.factor < 1
    assert slow.ordinary < 100
    still = decide(seen(pace=6_000, lag_seconds=1.0, factor=0.5, reason="lag"))
    assert (still.factor, still.reason, still.ordinary) == (0.5, SlowedBy.LAG, 50)
    better = decide(seen(pace=6_000, lag_seconds=0.1, factor=0.5, reason="lag"))
    assert 0.5 < better.factor < 1
    assert better.reason is SlowedBy.LAG
    well = decide(seen(pace=6_000, lag_seconds=0.1, factor=0.99, reason="lag"))
    assert (well.factor, well.reason) == (1.0, None)


def test_when_payments_fail_it_slows_down_and_names_that_until_it_is_over():
    slow = decide(seen(failed_share=0.8))
    assert slow.reason is SlowedBy.PAYMENTS_FAILING
    assert slow.factor < 1
    still = decide(seen(failed_share=0.4, factor=0.3, reason="payments_failing"))
    assert (still.factor, still.reason) == (0.3, SlowedBy.PAYMENTS_FAILING)
    better = decide(seen(failed_share=0.1, factor=0.3, reason="payments_failing"))
    assert better.factor > 0.3
    assert better.reason is SlowedBy.PAYMENTS_FAILING
    assert decide(seen(failed_share=None, factor=0.3, reason="payments_failing")).factor > 0.3


def test_where_nobody_knows_the_lag_it_gets_no_faster():
    assert decide(seen(lag_seconds=None, factor=0.5)).factor == 0.5
    assert decide(seen(lag_seconds=None)).reason is None


def test_slowed_it_lets_fewer_be_inside():
    slow = decide(seen(pace=None, shopping_max=100, inside=40, lag_seconds=1.0, factor=0.5, reason="lag"))
    assert (slow.called, slow.reason) == (10, SlowedBy.LAG)
    assert decide(seen(pace=None, lag_seconds=1.0, factor=0.5)).called <= STEP_MAX / 2


def test_it_never_stands_still_by_itself():
    told = seen(pace=60, lag_seconds=60.0, factor=FACTOR_LEAST)
    assert decide(told).factor == FACTOR_LEAST
    assert decide(msgspec.structs.replace(told, now=Micros(40 * SECOND))).called == 1
    assert decide(seen(pace=None, shopping_max=3, factor=FACTOR_LEAST, lag_seconds=60.0)).called == 1


def test_after_a_long_silence_the_factor_moves_as_in_one_second():
    long_ago = decide(seen(now=Micros(10_000 * SECOND), lag_seconds=9.0))
    assert long_ago.factor == decide(seen(lag_seconds=9.0)).factor
    long_ago = decide(seen(now=Micros(10_000 * SECOND), factor=0.3))
    assert long_ago.factor == decide(seen(factor=0.3)).factor


# --- against a plain model ---


@dataclass
class Moment:
    """What happens before one step of a room."""

    after_ms: int
    joined: tuple[int, int]
    returns: int
    no_shows: int
    gone: int
    lag: float | None
    failed: float | None
    paused: bool


MOMENTS = st.lists(
    st.builds(
        Moment,
        after_ms=st.sampled_from([0, 1, 300, 500, 700, 2_000, 60_000]),
        joined=st.tuples(st.integers(0, 40), st.integers(0, 10)),
        returns=st.integers(0, 3),
        no_shows=st.integers(0, 5),
        gone=st.integers(0, 20),
        lag=st.sampled_from([0.0, 0.0, 0.0, 1.0, 5.0, None]),
        failed=st.sampled_from([None, None, 0.1, 0.4, 0.9]),
        paused=st.sampled_from([False, False, False, True]),
    ),
    min_size=1,
    max_size=60,
)
PACES = st.sampled_from([None, 1, 7, 60, 1_000, 100_000])
MOST = st.sampled_from([None, 1, 5, 60])


@given(MOMENTS, PACES, MOST)
def test_whatever_happens_the_room_keeps_to_what_the_organiser_said(
    moments: list[Moment], pace: int | None, most: int | None
):
    now, credit, factor, reason, decided_at = 0, 1.0, 1.0, None, 0
    ordinary = priority = returners = inside = admitted = 0
    allowed = Fraction(1)
    for moment in moments:
        now += moment.after_ms * 1_000
        ordinary, priority = ordinary + moment.joined[0], priority + moment.joined[1]
        unused = min(moment.no_shows, inside)
        returners += min(moment.returns, unused)
        inside = max(0, inside - unused - moment.gone)
        told = seen(
            paused=moment.paused, pace=pace, shopping_max=most, now=Micros(now),
            decided_at=Micros(decided_at), credit=credit, factor=factor, reason=reason, admitted=admitted,
            inside=inside, no_shows=unused, returners=returners, priority=priority, ordinary=ordinary,
            lag_seconds=moment.lag, failed_share=moment.failed,
        )  # fmt: skip
        decision = decide(told)
        # as many as were said, never more than are there or may be inside, and nobody while it is paused
        assert 0 <= decision.returners <= returners
        assert 0 <= decision.priority <= priority
        assert 0 <= decision.ordinary <= ordinary
        assert decision.called == 0 or not moment.paused
        assert most is None or decision.called <= max(0, most - inside)
        # by the pace: a bucket of a few seconds that time fills, and that no-shows overfill
        if pace is not None:
            burst = Fraction(pace, 60) * int(BURST_SECONDS)
            bucket = max(min(Fraction(2), 1 + burst), burst)
            filled = min(bucket, allowed + Fraction(pace * (now - decided_at), 60 * SECOND))
            allowed = max(allowed, filled) + unused - decision.called
            assert allowed >= Fraction(-1, 1_000)
        # nobody who could be called waits without a reason
        could = min(decision.credit if pace is not None else STEP_MAX, told.waiting)
        assert decision.called == int(could) or decision.reason is not None
        assert FACTOR_LEAST <= decision.factor <= 1
        # whoever returns is called before any other
        assert decision.returners == min(returners, decision.called)
        # and one lane waits only for the other
        lanes = decision.called - decision.returners
        assert decision.priority >= min(priority, lanes // 2)
        assert decision.ordinary >= min(ordinary, lanes // 2)
        credit, factor, reason = spent(decision, pace, decision.called), decision.factor, decision.reason
        decided_at = now
        returners, priority = returners - decision.returners, priority - decision.priority
        ordinary, inside = ordinary - decision.ordinary, inside + decision.called
        admitted += lanes


@given(st.lists(st.integers(1, 2_000), min_size=1, max_size=80), st.sampled_from([7, 60, 1_000]))
def test_over_a_whole_sale_the_pace_is_kept_to_however_irregular_the_steps(steps: list[int], pace: int):
    now, credit, decided_at, called = 0, 1.0, 0, 0
    for after_ms in steps:
        now += after_ms * 1_000
        told = seen(pace=pace, now=Micros(now), decided_at=Micros(decided_at), credit=credit, ordinary=10**9)
        decision = decide(told)
        credit, decided_at = spent(decision, pace, decision.called), now
        called += decision.called
    due = 1 + pace * now / (60 * SECOND)
    assert called <= due + 1e-3
    if max(steps) < 1_000 * min(BURST_SECONDS, 60 / pace):
        assert called >= due - 1 - 1e-3


@given(st.lists(st.integers(1, 900), min_size=2, max_size=20))
def test_a_step_that_writes_nothing_changes_nothing(pauses: list[int]):
    """Credit is reckoned from when it was last written: steps between that called nobody do not count."""
    last = Micros(sum(pauses) * 1_000)
    at_once = decide(seen(pace=1, credit=0.0, decided_at=Micros(0), now=last))
    credit, at = 0.0, 0
    for pause in pauses:
        decision = decide(seen(pace=1, credit=credit, decided_at=Micros(at), now=Micros(at + pause * 1_000)))
        assert decision.called == 0 or decision.credit >= 1
        credit, at = decision.credit, at + pause * 1_000
    assert credit == pytest.approx(at_once.credit)


# --- the rate ---


def test_the_rate_is_of_the_last_minute():
    measured = Called()
    assert measured.rate(Micros(0), 100) is None
    assert measured.rate(Micros(9 * SECOND), 190) is None
    for second in range(10, 61):
        assert measured.rate(Micros(second * SECOND), 100 + 10 * second) == pytest.approx(600)
    for second in range(61, 121):
        rate = measured.rate(Micros(second * SECOND), 700 + 5 * (second - 60))
        assert rate is not None
        assert 300 < rate < 600 or second == 120
    assert measured.rate(Micros(121 * SECOND), 1_005) == pytest.approx(300, rel=0.02)


def test_a_slow_line_is_measured_over_longer():
    measured = Called()
    for second in range(0, 400, 5):
        rate = measured.rate(Micros(second * SECOND), second // 30)
    assert rate == pytest.approx(2, rel=0.1)


def test_where_nobody_is_called_any_more_the_rate_goes_to_nothing():
    measured = Called()
    for second in range(2_000):
        rate = measured.rate(Micros(second * SECOND), min(second, 5))
    assert rate == 0
    assert len(measured._samples) <= Called.WINDOW_SECONDS_MAX + 2


def test_a_pause_says_nothing_about_how_fast_it_goes_after():
    measured = Called()
    for second in range(30):
        measured.rate(Micros(second * SECOND), second)
    measured.interrupted()
    assert measured.rate(Micros(1_000 * SECOND), 30) is None
    for second in range(1_001, 1_020):
        rate = measured.rate(Micros(second * SECOND), 30 + second - 1_000)
    assert rate == pytest.approx(60)


def test_bounds_are_what_the_text_says():
    assert admission.HALVES_IN_SECONDS < admission.RECOVERS_IN_SECONDS
    assert admission.LAG_SECONDS_GOOD < admission.LAG_SECONDS_MAX
    assert admission.FAILED_GOOD < admission.FAILED_MAX
