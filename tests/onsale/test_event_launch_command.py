"""`event launch`: what the console's call takes, out of a file."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from onsale.commands.event import app
from tests.gateway.test_operator_venues import CSV


@pytest.fixture
def launch(engine_urls, monkeypatch, tmp_path):
    """Runs it on a body, and gives exit code and output."""
    for name, value in engine_urls.as_env().items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("USER", "olga")

    def run(body, *options):
        file = tmp_path / "launch.json"
        file.write_text(body if isinstance(body, str) else json.dumps(body))
        done = CliRunner().invoke(app, ["launch", str(file), *options])
        return done.exit_code, done.stdout, done.stderr

    return run


def test_an_event_is_made_out_of_two_files_with_its_codes(launch, tmp_path):
    plan = tmp_path / "grand.csv"
    plan.write_bytes(b"\xef\xbb\xbf" + CSV)
    body = {"event": {"slug": "gala", "name": "Gala"}, "room": {"pace": 90}, "codes": [{"label": "Members"}]}
    code, said, _ = launch(body, "--plan", str(plan))
    assert code == 0
    assert "Gala (gala): 3 seats at grand; it is draft." in said
    assert "admits 90 a minute" in said
    assert "Codes for Members, each for 1, told this once:" in said


def test_json_is_what_the_call_answers(launch):
    body = {"event": {"slug": "hall"}, "make": {"kind": "hall", "seats": 0}, "begin": "lobby", "room": {}}
    code, said, _ = launch(body, "--json")
    told = json.loads(said)
    assert (code, told["event"]["state"], told["venue"]) == (0, "lobby", "hall")


def test_everything_that_is_wrong_is_told_a_line_each(launch):
    code, _, told = launch({"event": {"slug": "A"}, "make": {"kind": "hall", "seats": -1}, "message": "x"})
    assert code == 1
    fields = [line.split(":")[0].strip() for line in told.splitlines()[1:]]
    assert fields == ["event.slug", "make.seats", "message"]
    code, said, _ = launch({"event": {"slug": "A"}, "venue": "nowhere"}, "--json")
    assert (code, [one["field"] for one in json.loads(said)["errors"]]) == (1, ["event.slug", "venue"])
    assert launch("{")[0] == 1
