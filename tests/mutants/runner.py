"""Running mutants: each in a copy of the repository, where the tests that should notice it are run.

Every job has a copy and engines of its own for all of its mutants, and applies one at a time. Before that
the tests run once without any fault: a test that fails anyway catches nothing. A mutant is caught when one
of its tests fails; tests that do not come to an end, cannot be loaded or find no engines say nothing.
"""

from __future__ import annotations

import ast
import compileall
import functools
import json
import os
import py_compile
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from queue import SimpleQueue
from typing import TypeVar
from xml.etree import ElementTree as ET

from onsale.engines import engines
from tests.conftest import REDIS_DATABASES
from tests.mutants import lent, warm
from tests.mutants.mutant import DoesNotApply, Mutant, mutated

_PARSING = threading.Lock()
"""Python 3.11 keeps one count for all threads that parse at once, and calls it a SystemError."""
T = TypeVar("T")
REPOSITORY = Path(__file__).resolve().parents[2]
SECONDS_MAX = 120.0
"""Longest run of one mutant's tests."""
NOT_COPIED = shutil.ignore_patterns(".*", "__pycache__", "node_modules", "web")
LEFT_OUT = ("PYTEST_ADDOPTS", "DATABASE_URL", "REDIS_URL")
ROOMS = ("onsale", "gateway", "allocator", "notifier", "store", "bench")
CHECKED_HASH = py_compile.PycInvalidationMode.CHECKED_HASH
NO_ENGINES = "The test rig has no engines"
PASSED, FAILED = 0, 1
"""pytest's exit codes; any other one means that the tests did not run."""


class Verdict(StrEnum):
    CAUGHT = "caught"
    SURVIVED = "survived"
    DOES_NOT_APPLY = "does not apply"
    NO_SUCH_TEST = "names a test that is not there"
    UNCLEAR = "unclear"
    """Its tests did not run, or fail without it too."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A test that failed, and the first line of why."""

    test: str
    why: str


@dataclass(frozen=True, slots=True)
class Outcome:
    mutant: Mutant
    verdict: Verdict
    failures: tuple[Failure, ...] = ()
    note: str = ""
    """Why it does not apply or is unclear."""

    @property
    def caught(self) -> bool:
        return self.verdict is Verdict.CAUGHT


@dataclass(frozen=True, slots=True)
class Workplace:
    """A copy of the repository, and a process in it that runs tests (`tests.mutants.warm`)."""

    copy: Path
    process: subprocess.Popen[str]

    def ask(self, job: dict[str, object]) -> int | None:
        """pytest's exit code, or None when it had to be ended."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(job) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        assert line, "the process that runs tests has ended; its words are above"
        code: int | None = json.loads(line)["code"]
        return code


@dataclass(frozen=True, slots=True)
class Ran:
    """One run of pytest. `trouble` is why it says nothing; then there are no failures."""

    failures: tuple[Failure, ...] = ()
    trouble: str = ""


def run(mutants: Sequence[Mutant], jobs: int, tell: Callable[[Outcome], None]) -> list[Outcome]:
    """All outcomes, in the order of `mutants`; `tell` hears each as it comes. Raises as an engine's start."""
    idle: SimpleQueue[Workplace] = SimpleQueue()
    with ExitStack() as leaving:
        for _ in range(jobs):
            idle.put(leaving.enter_context(_workplace()))
        pool = leaving.enter_context(ThreadPoolExecutor(jobs, thread_name_prefix="mutants"))

        def at_an_idle(work: Callable[[Workplace], T]) -> T:
            workplace = idle.get()
            try:
                return work(workplace)
            finally:
                idle.put(workplace)

        def one(mutant: Mutant) -> Outcome:
            outcome = at_an_idle(lambda workplace: _outcome(workplace, mutant, broken))
            tell(outcome)
            return outcome

        broken = _broken(list(pool.map(at_an_idle, _without_faults(mutants, jobs))))
        return list(pool.map(one, mutants))


def _without_faults(mutants: Sequence[Mutant], jobs: int) -> list[Callable[[Workplace], Ran]]:
    """All tests, shared out among the jobs."""
    tests = sorted({test for mutant in mutants for test in mutant.noticed_by if there_is(REPOSITORY, test)})
    shares = [tests[job::jobs] for job in range(jobs)]
    return [functools.partial(pytest, tests=share) for share in shares if share]


def _broken(rans: Sequence[Ran]) -> dict[str, str]:
    """Tests that fail without any fault, and why; under "" what kept them from running at all."""
    broken: dict[str, str] = {}
    for ran in rans:
        broken |= {failure.test.partition("[")[0]: failure.why for failure in ran.failures}
        if ran.trouble:
            broken[""] = ran.trouble
    return broken


def _outcome(workplace: Workplace, mutant: Mutant, broken: dict[str, str]) -> Outcome:
    for test in mutant.noticed_by:
        if not there_is(workplace.copy, test):
            return Outcome(mutant, Verdict.NO_SUCH_TEST, note=test)
    for test in ("", *mutant.noticed_by):
        why = broken.get(test.partition("[")[0])
        if why is not None:
            what = f"{test} fails" if test else "the tests do not run"
            return Outcome(mutant, Verdict.UNCLEAR, note=f"{what} without any fault: {why}")
    file = workplace.copy / mutant.file
    before = file.read_text()
    try:
        file.write_text(mutated(before, mutant))
    except DoesNotApply as error:
        return Outcome(mutant, Verdict.DOES_NOT_APPLY, note=str(error))
    try:
        ran = pytest(workplace, mutant.noticed_by)
    finally:
        file.write_text(before)
    if ran.trouble:
        return Outcome(mutant, Verdict.UNCLEAR, note=ran.trouble)
    return Outcome(mutant, Verdict.CAUGHT if ran.failures else Verdict.SURVIVED, ran.failures)


def there_is(root: Path, test: str) -> bool:
    """Whether a file has a test of that name, parameters aside; looked up without importing it."""
    path, _, name = test.partition("[")[0].partition("::")
    with _PARSING:
        return name in _functions(root / path)


@functools.lru_cache(maxsize=200)
def _functions(path: Path) -> frozenset[str]:
    if not path.is_file():
        return frozenset()
    tree = ast.parse(path.read_text())
    return frozenset(
        node.name for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
    )


@contextmanager
def _workplace() -> Iterator[Workplace]:
    with tempfile.TemporaryDirectory(prefix="onsale-mutants-") as home:
        copy = Path(home) / "onsale"
        copy_repository(copy)
        with engines(Path(home) / "data", valkey_databases=REDIS_DATABASES) as both:
            environ = {name: value for name, value in os.environ.items() if name not in LEFT_OUT}
            environ |= {"PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1", **lent.environ(both.urls)}
            environ |= {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
            with subprocess.Popen(
                [sys.executable, "-P", "-m", warm.__name__],
                cwd=copy,
                env=environ,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            ) as process:
                yield Workplace(copy, process)


def copy_repository(to: Path) -> None:
    """Its files as they stand now, without what git ignores; bytecode that notices a changed source."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=REPOSITORY,
        capture_output=True,
        check=False,
    )
    if listed.returncode == 0:
        for name in filter(None, listed.stdout.decode().split("\0")):
            if (REPOSITORY / name).is_file():  # else deleted and not committed yet
                (to / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(REPOSITORY / name, to / name)
    else:  # unpacked from an archive
        shutil.copytree(REPOSITORY, to, ignore=NOT_COPIED)
    for room in ROOMS:  # not the tests: pytest compiles those itself, with their assertions rewritten
        compileall.compile_dir(to / room, quiet=2, invalidation_mode=CHECKED_HASH)


def pytest(workplace: Workplace, tests: Sequence[str]) -> Ran:
    """Run these tests in a copy, in one process, without plugins (they cost more than most tests)."""
    report, said = workplace.copy / "mutant-report.xml", workplace.copy / "mutant-said.txt"
    report.unlink(missing_ok=True)
    options = ["-q", "-p", "no:cacheprovider", "-p", lent.__name__, f"--junitxml={report}"]
    seconds_max = SECONDS_MAX + len(tests)
    job = {
        "arguments": [*options, "-o", "junit_logging=no", *tests],
        "said": str(said),
        "seconds_max": seconds_max,
    }
    code = workplace.ask(job)
    if code is None:
        return Ran(trouble=f"its tests did not come to an end within {seconds_max:.0f} s")
    if code not in (PASSED, FAILED):
        last = [line for line in said.read_text().splitlines() if line.strip()][-1:]
        return Ran(trouble=f"pytest ended with {code}: {' '.join(last)}")
    if not report.is_file():
        return Ran(trouble="pytest ended without a report")
    ran = _read(report)
    if code == FAILED and not ran.failures and not ran.trouble:
        return Ran(trouble="pytest failed, and no test did")
    return ran


def _read(report: Path) -> Ran:
    failures = []
    for case in ET.parse(report).iter("testcase"):
        for trouble in (*case.iter("failure"), *case.iter("error")):
            message = trouble.get("message") or trouble.text or ""
            if NO_ENGINES in (trouble.text or "") + message:
                return Ran(trouble=f"{NO_ENGINES}. Is the machine out of memory, disk or ports?")
            failures.append(Failure(_id_of(case), message.strip().partition("\n")[0]))
    return Ran(tuple(dict.fromkeys(failures)))


def _id_of(case: ET.Element) -> str:
    """As pytest takes it: `tests/room/test_file.py::test_name[parameters]`."""
    module = case.get("classname", "")
    return f"{module.replace('.', '/')}.py::{case.get('name')}"
