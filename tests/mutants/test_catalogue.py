"""The list of mutants is up to date: each still applies, can be read, and names tests that are there.

That each is caught is what `./run mutants` shows; here no mutant runs.
"""

from __future__ import annotations

import ast
from collections import Counter

import pytest

from onsale.engines.data_dir import REPOSITORY
from tests.mutants.catalogue import all_mutants, chosen
from tests.mutants.mutant import DoesNotApply, In, Kind, Mutant, mutated
from tests.mutants.runner import there_is

MUTANTS = all_mutants()
BATCH_STATEMENTS = ("fence", "consumes", "runs out", "claimed", "area counter", "hold_seat", "hold_area")


@pytest.fixture(scope="module")
def sources() -> dict[str, str]:
    return {file: (REPOSITORY / file).read_text() for file in {mutant.file for mutant in MUTANTS}}


def test_each_mutant_applies_and_can_be_read(sources):
    troubles = []
    for mutant in MUTANTS:
        try:
            text = mutated(sources[mutant.file], mutant)
            if mutant.file.endswith(".py"):
                ast.parse(text)
        except (DoesNotApply, SyntaxError) as error:
            troubles.append((mutant.guard, str(error)))
            continue
        if text == sources[mutant.file]:
            troubles.append((mutant.guard, "it changes nothing"))
    assert troubles == []


def test_each_mutant_names_tests_that_are_there():
    missing = [
        (mutant.guard, test)
        for mutant in MUTANTS
        for test in mutant.noticed_by
        if not there_is(REPOSITORY, test)
    ]
    assert missing == []
    assert all(mutant.noticed_by for mutant in MUTANTS)


def test_each_guard_has_a_name_of_its_own():
    assert [guard for guard, count in Counter(mutant.guard for mutant in MUTANTS).items() if count > 1] == []


def test_every_kind_of_guard_has_mutants():
    assert {mutant.kind for mutant in MUTANTS} == set(Kind)


@pytest.mark.parametrize("words", BATCH_STATEMENTS)
def test_every_statement_of_a_batch_has_mutants(words):
    assert [mutant for mutant in MUTANTS if mutant.file == "allocator/sql.py" and words in mutant.guard]


def test_what_is_asked_for_is_found_by_guard_kind_or_file():
    assert chosen([]) == MUTANTS
    assert {mutant.kind for mutant in chosen(["FENCE"])} >= {Kind.FENCE}
    assert {mutant.file for mutant in chosen(["allocator/lease.py"])} == {"allocator/lease.py"}
    assert chosen(["no such guard"]) == []


MUTANT: Mutant = In("file.py")(Kind.FENCE, "a guard", "old", "new", "tests/no_test.py::test_no")


@pytest.mark.parametrize("text", ["nothing", "old and old"])
def test_a_guard_that_was_rewritten_is_told(text):
    with pytest.raises(DoesNotApply, match=r"file\.py"):
        mutated(text, MUTANT)


def test_a_test_that_is_not_there_is_told():
    assert not there_is(REPOSITORY, MUTANT.noticed_by[0])
    assert not there_is(REPOSITORY, "tests/mutants/test_catalogue.py::test_no")
    assert there_is(REPOSITORY, "tests/mutants/test_catalogue.py::test_a_test_that_is_not_there_is_told[x]")
