"""Alerts in logs that begin anew at their bound are noticed, each once."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bench.torture.stage import Stage

ALERT = "1 ERROR onsale.allocator demo: ALERT: {}\n"


class Log:
    """A log as a child of the stack writes it: at its bound it becomes `.1`."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def write(self, *stories: str, fine: int = 0) -> None:
        with open(self._path, "a") as log:
            log.writelines(["1 INFO fine\n"] * fine + [ALERT.format(story) for story in stories])

    def begin_anew(self) -> None:
        self._path.replace(self._path.with_name(self._path.name + ".1"))


@pytest.fixture
def on(tmp_path: Path) -> Stage:
    stack: Any = SimpleNamespace(processes={"allocator-1": None})
    return Stage(stack, {}, tmp_path)


@pytest.fixture
def log(on: Stage) -> Log:
    return Log(on.logs / "allocator-1.log")


def noticed(on: Stage) -> list[str]:
    stories = [finding.story for finding in on.noticed()]
    return [story.rpartition("ALERT: ")[2] for story in stories]


def test_each_alert_is_noticed_once(on, log):
    assert noticed(on) == []
    log.write("a", fine=3)
    assert noticed(on) == ["a"]
    assert noticed(on) == []
    log.write("b")
    assert noticed(on) == ["b"]


@pytest.mark.parametrize("fine", [0, 50], ids=["shorter", "longer"])
def test_alerts_on_both_sides_of_a_new_beginning_are_noticed(on, log, fine):
    log.write("a", fine=10)
    assert noticed(on) == ["a"]
    log.write("b")
    log.begin_anew()
    log.write("c", fine=fine)
    assert noticed(on) == ["b", "c"]
    log.write("d")
    assert noticed(on) == ["d"]


def test_a_log_that_began_anew_before_the_first_look_is_read_from_its_beginning(on, log):
    log.write("a")
    log.begin_anew()
    assert noticed(on) == [], "for a moment there is no log"
    log.write("b")
    assert noticed(on) == ["a", "b"]


def test_of_a_log_that_began_anew_twice_what_is_left_is_read(on, log):
    log.write("a", fine=10)
    assert noticed(on) == ["a"]
    log.begin_anew()
    log.write("b")
    log.begin_anew()
    log.write("c")
    assert noticed(on) == ["b", "c"]
