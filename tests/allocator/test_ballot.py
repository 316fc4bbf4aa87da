"""Whatever happens between any two calls, wishes are decided in the draw's order, each once, and all."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from allocator import ballot
from tests.allocator.pretended_ballot import Killed, Pretended, order_of

HAPPENS = st.one_of(
    st.sampled_from(["", "", "", "kill", "cut", "wipe", "commit", "crash", "other keeper", "stale keeper"]),
    st.tuples(st.sampled_from(["read", "forget", "leave"]), st.integers(1, 9)),
)
STEPS_MAX = 2_000


class History:
    """One history: what happens before each call is drawn, until nothing more does; then all is well."""

    def __init__(self, pretended: Pretended, happenings: list[object]) -> None:
        self.pretended, self.happenings = pretended, happenings
        self.keeper, self.other = pretended.keeper(), pretended.keeper()
        self.within = 0
        pretended.meanwhile = self.meanwhile

    def meanwhile(self) -> str:
        pretended = self.pretended
        if not self.happenings:
            return ""
        match self.happenings.pop():
            case "kill" | "cut" as how:
                return str(how)
            case "wipe":
                pretended.wipe()
            case "commit":
                pretended.commit()
            case "crash":
                pretended.crash()
            case "other keeper" if not self.within:
                self.step_other()
            case "stale keeper" if not self.within:
                self.other = pretended.keeper()
                self.step_other()
            case ("read", int(count)):
                pretended.read(count)
            case ("forget", int(count)):
                pretended.forget(count)
            case ("leave", int(number)):
                pretended.leave(number)
        self.in_order()
        return ""

    def step_other(self) -> None:
        self.within += 1
        try:
            self.other()
        except Killed:
            self.other = self.pretended.keeper()
        self.within -= 1

    def step(self) -> float | None:
        try:
            return self.keeper()
        except Killed:
            self.keeper = self.pretended.keeper()
            return 0.0

    def in_order(self) -> None:
        """Of those who stay, the ledger has all up to some rank, in order. Who left may be decided or not."""
        staying = [buyer for buyer in order_of(self.pretended) if buyer not in self.pretended.left]
        decided = [buyer for buyer in self.pretended.ledger if buyer not in self.pretended.left]
        assert decided == staying[: len(decided)]

    def run(self) -> None:
        for _ in range(STEPS_MAX):
            if self.step() is None:
                break
            self.pretended.read(7)
            self.pretended.commit()
            self.in_order()
        else:
            raise AssertionError("the ballot does not end")


@given(
    st.integers(0, 5),
    st.integers(0, 30),
    st.integers(1, 6),
    st.integers(1, 3),
    st.lists(HAPPENS, max_size=120),
)
def test_whatever_happens_wishes_are_decided_in_the_draws_order_each_once_and_all(
    priority, ordinary, piece_max, pieces_ahead, happenings
):
    pretended = Pretended(priority, ordinary)
    with pytest.MonkeyPatch.context() as patch:
        pretended.installed(patch, piece_max, piece_max * pieces_ahead)
        history = History(pretended, happenings)
        history.run()
    assert pretended.ended
    assert set(pretended.ledger) | pretended.left >= set(order_of(pretended))
    assert len(set(pretended.ledger)) == len(pretended.ledger)


@pytest.fixture
def pretended(monkeypatch):
    made = Pretended(2, 20)
    made.installed(monkeypatch, 4, 12)
    return made


def run_out(pretended: Pretended, step: Callable[[], float | None]) -> None:
    """Until the ballot is over, as it should be."""
    for _ in range(STEPS_MAX):
        if step() is None:
            break
        pretended.read(4)
        pretended.commit()
    assert pretended.ledger == order_of(pretended)


def test_no_more_is_appended_than_may_be_ahead_of_the_cursor(pretended):
    step = pretended.keeper()
    for _ in range(3):
        assert step() == ballot.WAIT_SECONDS
    assert len(pretended.stream) == 12
    pretended.read(5)
    pretended.commit()
    step()
    assert len(pretended.stream) == 12 - 5 + 4, "one piece was passed whole"


def test_what_a_dead_owner_appended_is_not_decided_twice_nor_out_of_order(pretended):
    pretended.keeper()()
    pretended.read(3)
    pretended.commit()
    step = pretended.keeper()
    step()
    assert len(pretended.stream) == 9 + 12, "the first undecided of all and what follows, again"
    run_out(pretended, step)


def test_what_was_lost_at_the_end_is_noticed_without_a_new_arrival(pretended):
    """The cursor never passes what the stream lost: nothing stands there any more that would move it."""
    step = pretended.keeper()
    while len(pretended.ledger) < 18:
        step()
        pretended.read(4)
        pretended.commit()
    step()
    pretended.wipe()
    run_out(pretended, step)


def test_an_event_without_a_ballot_or_with_one_that_is_over_owes_nothing(pretended):
    pretended.ended = 1
    assert pretended.keeper()() is None
    assert pretended.stream == []
