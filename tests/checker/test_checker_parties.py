"""Refusals of who described what they want: whether there was nothing for them."""

from __future__ import annotations

from typing import Any

from bench.evidence import Batch, Seen
from store.plan import Block
from tests.checker.judged import judged, of_kind
from tests.checker.sale import asked, request


def refuse(want: str) -> Any:
    """A change of the clean sale: at its end, with s3 and s4 free, this is refused."""

    def change(truth: Any, seen: Any) -> None:
        late = request((4, 2), "401-0", "hal", want, "sold_out", '{"reason":"none_together"}')
        truth.ledger.append(late)
        truth.batches[3] = Batch(4, 1, 40, "401-0", 3)
        truth.cursor_arrival = "401-0"
        seen.append(Seen("hal", [asked(late, 402)]))

    return change


def test_two_together_are_refused_only_when_no_block_has_them():
    refuse_two = refuse('{"best":{"quantity":2}}')

    def with_an_aisle(truth, seen):
        refuse_two(truth, seen)
        blocks = (Block(0, 3, 0, 0), Block(3, 1, 0, 0))
        truth.plan = type(truth.plan)(
            **{name: getattr(truth.plan, name) for name in truth.plan.__struct_fields__} | {"blocks": blocks}
        )

    assert "refused though s3, s4 were free" in of_kind(judged(refuse_two), "unexplained")
    assert judged(with_an_aisle) == []


def test_of_several_parties_the_replay_is_the_judge():
    """They are seated one after the other: the first may sit where only the second could."""
    assert judged(refuse('{"best":[{"quantity":1},{"quantity":1}]}')) == []
