"""Faults in limits and tours that whole on-sales with trouble show, whatever their own tests say."""

from __future__ import annotations

from tests.mutants.mutant import In, Kind, Mutant

LAWS = "tests/simulation/test_simulation.py::test_every_law_holds_after_whatever_went_wrong"
choosing = In("allocator/choosing.py")
limits = In("allocator/limits.py")
memory = In("allocator/memory.py")
decide = In("allocator/decide.py")
loop = In("allocator/loop.py")

MUTANTS: list[Mutant] = [
    choosing(
        Kind.BOUND,
        "in an on-sale nobody gets more than their tour allows on all dates",
        "total = min(left, tour.seats_per_buyer_max - here - elsewhere)",
        "total = min(left, tour.seats_per_buyer_max - here)",
        LAWS,
    ),
    limits(
        Kind.BOUND,
        "in an on-sale nobody gets more of a category than its limit",
        "            if self._left[category] < 0:\n                return category\n",
        "",
        LAWS,
    ),
    loop(
        Kind.REPLAY,
        "a date's on-sale is decided again without the other date's ledger",
        "        return [*facts, elsewhere_fact(counts)] if counts else facts\n",
        "        self.memory.elsewhere = counts\n        return facts\n",
        LAWS,
    ),
    loop(
        Kind.CONDITION,
        "a batch of a date asks about everybody whose request it decides",
        "        counts = self._truth.elsewhere(policy.tour.id, buyers)\n",
        "        counts = self._truth.elsewhere(policy.tour.id, buyers[1:])\n",
        LAWS,
    ),
    decide(
        Kind.REPLAY,
        "what a date gives is written down as its tour's",
        "    decided.tour_id = None if memory.policy.tour is None else memory.policy.tour.id\n",
        "    decided.tour_id = None\n",
        LAWS,
    ),
    memory(
        Kind.OVERLAY,
        "after a batch that failed the counts by category are what the tables say",
        "        for key, count in reversed(self._category_counts):\n"
        "            _set_count(memory.count_by_category, key, count)\n",
        "",
        LAWS,
    ),
]
