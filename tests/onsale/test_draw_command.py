"""`draw`: what anybody checks, without a database; and what organisers show and write down."""

from __future__ import annotations

import functools
import hashlib
import http.server
import json
import subprocess
import sys
import threading
import uuid

import psycopg
import pytest
from typer.testing import CliRunner

from onsale.commands.draw import app
from onsale.engines.data_dir import REPOSITORY
from store import events
from store.room import draw
from store.room.words import RoomPolicy
from store.words import EventState
from tests.store.room.rooming import begin_sale, join, make_room
from tests.store.room.test_published import ORDINARY, SEED, SHA256, text


def run(*words):
    result = CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=False)
    return result.exit_code, result.stdout, result.stderr


@pytest.fixture(autouse=True)
def _no_engines(monkeypatch):
    """Whatever needs a database fails here unless a test asks for one."""
    monkeypatch.setenv("DATABASE_URL", "postgresql://nobody@127.0.0.1:1/none")
    monkeypatch.setenv("REDIS_URL", "redis://127.0.0.1:1/0")
    monkeypatch.setenv("COLUMNS", "200")


@pytest.fixture
def honest(tmp_path):
    path = tmp_path / "places.csv"
    path.write_text(text())
    return path


def test_an_honest_list_stands(honest):
    code, out, _ = run("verify", honest, "--commitment", SHA256.hex(), "--place", ORDINARY[16])
    assert code == 0
    assert "each of 45 places stands where the seed puts it" in out
    assert SHA256.hex() in out
    assert f"Place {ORDINARY[16]} stands at ordinary 17." in out


def test_of_a_forged_list_the_place_that_was_moved_is_named(honest):
    honest.write_text(text([ORDINARY[30], *ORDINARY[:30], *ORDINARY[31:]]))
    code, out, _ = run("verify", honest)
    assert code == 1
    assert f"Place {ORDINARY[30]} stands at ordinary 1; the draw puts it at ordinary 31." in out
    code, out, _ = run("verify", honest, "--json")
    told = json.loads(out)
    assert (code, told["stands"], len(told["faults"])) == (1, False, 1)
    assert told["faults"][0] | {"kind": "moved", "place": str(ORDINARY[30])} == told["faults"][0]


def test_a_seed_that_was_not_promised_is_told(honest):
    code, out, _ = run("verify", honest, "--commitment", hashlib.sha256(b"another").hexdigest())
    assert code == 1
    assert "another than the one that was promised" in out


def test_who_is_not_in_the_list_is_told(honest):
    code, out, _ = run("verify", honest, "--place", uuid.uuid4())
    assert code == 1
    assert "is not in the list" in out


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["no/such/file"], "cannot be read"),
        (["{honest}", "--place", "me"], "--place takes a place's id"),
        (["{honest}", "--commitment", "abc"], "64 hexadecimal digits"),
        (["ftp://127.0.0.1/places.csv"], "no address of the web"),
        (["http://127.0.0.1:1/places.csv"], "cannot be fetched"),
        (["{empty}"], "no list of a draw"),
    ],
)
def test_what_cannot_be_read_is_neither_right_nor_wrong(honest, tmp_path, words, says):
    (tmp_path / "empty").write_bytes(b"\xff\x00")
    given = [word.format(honest=honest, empty=tmp_path / "empty") for word in words]
    code, _, err = run("verify", *given)
    assert code == 2
    assert says in err


def test_a_list_is_fetched_from_its_address(honest):
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=honest.parent)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        url = f"http://127.0.0.1:{server.server_port}"
        fetched, missing = run("verify", f"{url}/places.csv"), run("verify", f"{url}/none.csv")
        server.shutdown()
        thread.join()
    assert fetched[0] == 0
    assert missing[0] == 2


@pytest.fixture
def conn(engine_urls, monkeypatch):
    monkeypatch.setenv("DATABASE_URL", engine_urls.database_url)
    monkeypatch.setenv("REDIS_URL", engine_urls.redis_url)
    with psycopg.connect(engine_urls.database_url, autocommit=True) as conn:
        yield conn


def test_what_is_promised_is_shown_before_and_the_seed_after(conn):
    event = make_room(conn)
    join(conn, event, "ann", "bob")
    before = json.loads(run("show", "gig", "--json")[1])
    assert (before["seed"], before["drawn"], len(before["seed_sha256"])) == (None, None, 64)
    assert "The lobby goes on; the seed is told once it is drawn." in run("show", "gig")[1]
    begin_sale(conn, event)
    after = json.loads(run("show", "gig", "--json")[1])
    assert hashlib.sha256(bytes.fromhex(after["seed"])).hexdigest() == before["seed_sha256"]
    assert "2 places were drawn at" in run("show", "gig")[1]


def test_what_is_exported_is_what_is_verified(conn, tmp_path):
    event = make_room(conn)
    join(conn, event, *[f"b{number}" for number in range(120)])
    path = tmp_path / "places.csv"
    assert "is not drawn yet" in run("export", "gig", "--out", path)[2]
    begin_sale(conn, event)
    join(conn, event, "late")
    code, out, _ = run("export", "gig", "--out", path)
    assert (code, "120 places" in out) == (0, True)
    assert run("verify", path)[0] == 0
    assert run("export", "gig")[1] == path.read_text()
    assert "cannot be written" in run("export", "gig", "--out", tmp_path)[2]


def test_without_a_draw_the_list_is_empty_and_stands(conn, tmp_path):
    make_room(conn, policy=RoomPolicy.FIFO)
    events.set_state(conn, "gig", EventState.OPEN)
    draw.draw(conn, 1)
    path = tmp_path / "places.csv"
    run("export", "gig", "--out", path)
    assert "# drawn: 0" in path.read_text()
    assert run("verify", path)[0] == 0
    assert SEED.hex() not in path.read_text()


@pytest.mark.parametrize("moved", [False, True])
def test_the_ten_lines_of_the_documentation_check_a_list_too(honest, moved):
    written = (REPOSITORY / "docs" / "waiting-room.md").read_text()
    program = next(block for block in written.split("```") if block.startswith("python\nimport hashlib"))
    if moved:
        honest.write_text(text([ORDINARY[30], *ORDINARY[:30], *ORDINARY[31:]]))
    command = [sys.executable, "-c", program.removeprefix("python\n"), str(honest)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == moved, done.stderr
    assert ("AssertionError: ordinary" in done.stderr) is moved
