"""docs/settings.md has every variable that the code reads, and no other; compose.yaml passes on what its own
table in deploy/README.md lists, to those who read it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from store.fleet import limits

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("store", "allocator", "notifier", "gateway", "onsale", "bench", "clients")
COMPOSE = (ROOT / "compose.yaml").read_text()
SERVICES = yaml.safe_load(COMPOSE)["services"]
OURS = sorted(name for name, service in SERVICES.items() if service.get("build"))
VARIABLE = re.compile(r"DATABASE_URL|REDIS_URL|ONSALE_[A-Z0-9_]*[A-Z0-9]")
ALL_BUT = "all but "


def names_in(source: str) -> Iterator[str]:
    """Strings in code that are a variable's name and nothing else."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and VARIABLE.fullmatch(node.value):
            yield node.value


def read_by_the_code() -> set[str]:
    sources = [path for room in ROOMS for path in (ROOT / room).rglob("*.py")]
    found = {name for path in [*sources, ROOT / "run"] for name in names_in(path.read_text())}
    return found | {limits.PREFIX + name.upper() for name in limits.BOUNDS}


def rows_of(page: str) -> Iterator[tuple[list[str], list[str]]]:
    """(variables, the other cells) of each row of a page's tables that begins with variables."""
    for line in (ROOT / page).read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        names = VARIABLE.findall(cells[0])
        if line.startswith("| `") and names:
            yield names, cells[1:]


def documented() -> dict[str, str]:
    """Who reads each, as the page says it; `file` where it may come from one."""
    told: dict[str, str] = {}
    for names, (readers, *_) in rows_of("docs/settings.md"):
        for name in names:
            assert name not in told, f"{name} is there once"
            told[name] = readers
    return told


def reads(service: str, readers: str) -> bool:
    if readers.startswith(ALL_BUT):
        return service not in readers.removeprefix(ALL_BUT).split(", ")
    return readers == "all" or service in readers.split(", ")


def test_names_are_found_where_they_are_read_and_not_in_sentences():
    source = 'a = env.get("ONSALE_ONE")\nraise Bad("set ONSALE_TWO")\nPREFIX = "ONSALE_"'
    assert list(names_in(source)) == ["ONSALE_ONE"]


def test_every_variable_the_code_reads_is_told_and_no_other():
    assert set(documented()) == read_by_the_code()


@pytest.mark.parametrize("service", OURS)
def test_a_container_is_given_nothing_that_it_does_not_read(service):
    told = documented()
    given = {name.removesuffix("_FILE") for name in SERVICES[service]["environment"]}
    assert [name for name in sorted(given) if not reads(service, told[name])] == []


def test_the_page_says_of_each_whether_it_may_come_from_a_file():
    listed = re.search(r"for name in ([A-Z_ \\\n]+);", (ROOT / "deploy/entrypoint.sh").read_text())
    assert listed is not None
    from_files = re.findall(r"`([A-Z_]+)` \(file\)", (ROOT / "docs/settings.md").read_text())
    assert sorted(from_files) == sorted(listed[1].replace("\\", " ").split())


def test_what_compose_takes_from_outside_is_in_its_own_table():
    taken = {name for name in re.findall(r"\$\{([A-Z_]+):-", COMPOSE) if "SIMULATED" not in name}
    listed = {name for names, _ in rows_of("deploy/README.md") for name in names}
    assert listed == taken
