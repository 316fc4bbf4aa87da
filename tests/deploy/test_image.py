"""The chores as their container has them: the files that the image copies and no others, none of which can
be written, with compose.yaml's environment behind the entrypoint. There a rehearsal runs to its result.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from store import events, migrate
from store.audit import Said
from store.rehearsals import rows
from store.rehearsals.words import RehearsalState
from store.venues.make import make
from store.venues.rows import save_venue
from tests.conftest import Rig, engines_beside
from tests.deploy.selling import until
from tests.deploy.test_processes import ROOT, Composed

REHEARSED_SECONDS_MAX = 200.0


def files_of(folder: Path) -> dict[str, float]:
    """Every file and folder with when it was changed."""
    return {str(path.relative_to(folder)): path.stat().st_mtime for path in folder.rglob("*")}


def without_rights() -> list[str]:
    """For root, whom file permissions do not hold: a program that gives that up."""
    if os.geteuid() != 0:
        return []
    if shutil.which("setpriv") is None:
        pytest.skip("root can write everywhere, and setpriv (util-linux) is not installed to change that")
    return ["setpriv", "--bounding-set=-dac_override"]


@pytest.fixture
def app(tmp_path: Path) -> Iterator[Path]:
    """What the Dockerfile makes of /app, compiled as there; nobody can write into it."""
    app = tmp_path / "app"
    copied = re.findall(r"^COPY (?!--from)(\S+) (\S+)$", (ROOT / "Dockerfile").read_text(), re.MULTILINE)
    for source, target in copied:
        if (ROOT / source).is_dir():
            shutil.copytree(ROOT / source, app / target, ignore=shutil.ignore_patterns("__pycache__"))
        elif target != "/":
            assert not target.startswith("/"), "all of ours is below /app"
            (app / target).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / source, app / target)
    subprocess.run([sys.executable, "-m", "compileall", "-q", str(app)], check=True)
    everything = [app, *app.rglob("*")]
    for path in everything:
        path.chmod(0o555 if path.is_dir() else 0o444)
    yield app
    for path in everything:
        path.chmod(0o755 if path.is_dir() else 0o644)


@pytest.fixture
def composed(rig: Rig, app: Path, tmp_path: Path) -> Iterator[Composed]:
    with engines_beside(rig) as urls:
        migrate.upgrade(urls.database_url)
        made = Composed(tmp_path, urls.database_url, urls.redis_url, code=app, as_whom=without_rights())
        yield made
        made.stop_all()


def test_a_rehearsal_runs_where_nothing_but_its_own_folder_can_be_written(
    composed: Composed, app: Path, tmp_path: Path
):
    probe = subprocess.run(
        [*composed.as_whom, "touch", str(app / "written")], capture_output=True, check=False
    )
    assert probe.returncode != 0, "the code is read-only, as in the container"
    before, writes = files_of(app), tmp_path / "volume"
    writes.mkdir()
    plan = make("theatre", 20)
    with psycopg.connect(composed.database_url, autocommit=True) as conn:
        events.create_event(conn, "gala", "Gala", save_venue(conn, "small", plan), plan)
        asked = rows.ask(conn, "gala", Said("Olga", "before the sale"), buyers=10)
        composed.start(
            "chores",
            "chores",
            ONSALE_DATA_DIR=str(tmp_path),
            ONSALE_CHORES_BEAT=str(tmp_path / "chores.beat"),
            ONSALE_REHEARSAL_DIR=str(writes),
        )
        until(lambda: list(writes.iterdir()), "its folder is made")
        seen = until(
            lambda: (found := rows.read(conn, "gala", asked.id)).ended_at and found,
            "the rehearsal is over",
            REHEARSED_SECONDS_MAX,
        )
    assert (seen.state, seen.error) == (RehearsalState.DONE, None), composed.log("chores")
    assert seen.result["measured"]["runs"]
    until(lambda: not list(writes.iterdir()), "its folder is gone")
    assert files_of(app) == before
