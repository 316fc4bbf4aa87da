"""Venues are stored once and never change; the command line saves a plan whole or not at all."""

import json
from pathlib import Path

import psycopg
import pytest
from msgspec.structs import replace
from typer.testing import CliRunner

from onsale.commands.venue import app
from store.errors import Conflicted, NotFound
from store.plan import PlanError
from store.venues import rows
from store.venues.make import make
from store.venues.rows import load_plan, newest_venues, save_venue

PLANS = Path(__file__).with_name("plans")


@pytest.fixture
def conn(database_url):
    with psycopg.connect(database_url) as connection:
        yield connection


def test_a_saved_plan_comes_back_as_it_was(conn):
    plan = make("arena", 800)
    venue_id = save_venue(conn, "bowl", plan)
    assert load_plan(conn, venue_id) == plan
    (venue,) = newest_venues(conn)
    assert (venue.id, venue.slug, venue.name, venue.seats, venue.standing) == (
        venue_id,
        "bowl",
        "Arena 800",
        800,
        200,
    )


def test_the_largest_plan_can_be_saved(conn):
    plan = make("theatre", 100_000)
    assert load_plan(conn, save_venue(conn, "giant", plan)) == plan


def test_saving_the_same_again_changes_nothing_and_another_plan_is_refused(conn):
    plan = make("hall", 0)
    first = save_venue(conn, "hall", plan)
    assert save_venue(conn, "hall", plan) == first
    with pytest.raises(Conflicted, match="another plan"):
        save_venue(conn, "hall", replace(plan, name="Other"))
    assert [venue.name for venue in newest_venues(conn)] == [plan.name]


@pytest.mark.parametrize("slug", ["", "Grand", "a b", "-a", "a-", "x" * 65, "a/b", "grün"])
def test_a_slug_that_does_not_fit_into_an_address_is_refused(conn, slug):
    with pytest.raises(PlanError, match="slug"):
        save_venue(conn, slug, make("hall", 0))
    assert newest_venues(conn) == []


def test_a_plan_out_of_order_is_not_saved(conn):
    with pytest.raises(PlanError, match="blocks"):
        save_venue(conn, "hall", replace(make("hall", 5), blocks=()))
    assert newest_venues(conn) == []


def test_an_unknown_venue_is_not_found(conn):
    with pytest.raises(NotFound, match="no venue with id 99"):
        load_plan(conn, 99)


def test_a_damaged_plan_is_never_handed_out(conn):
    venue_id = save_venue(conn, "hall", make("hall", 0))
    conn.execute("UPDATE venue SET plan = replace(plan, '2000', '9000'), name = name")
    conn.execute("UPDATE venue SET plan = plan || ' '")
    with pytest.raises(AssertionError, match="damaged"):
        load_plan(conn, venue_id)


def test_a_plan_is_read_once_to_be_listed_and_what_is_known_of_plans_is_bounded(conn, monkeypatch):
    monkeypatch.setattr(rows, "_counted", {})
    monkeypatch.setattr(rows, "COUNTED_MAX", 2)
    for seats in (3, 5):
        save_venue(conn, f"hall-{seats}", make("hall", seats))
    listed = newest_venues(conn)
    assert [venue.seats for venue in listed] == [5, 3]
    conn.execute("UPDATE venue SET plan = 'no plan at all'")
    assert newest_venues(conn) == listed
    save_venue(conn, "hall-7", make("hall", 7))
    assert [venue.seats for venue in newest_venues(conn, 1)] == [7]
    assert len(rows._counted) == 1, "what was known made room"


@pytest.fixture
def run(engine_urls, monkeypatch):
    monkeypatch.setenv("DATABASE_URL", engine_urls.database_url)
    monkeypatch.setenv("REDIS_URL", engine_urls.redis_url)
    monkeypatch.setenv("COLUMNS", "200")

    def run(*arguments):
        return CliRunner().invoke(app, [str(argument) for argument in arguments], catch_exceptions=False)

    return run


def test_venues_are_made_imported_and_listed(run):
    made = run("make", "theatre", "--seats", 120, "--name", "Grand Théâtre", "--json")
    assert made.exit_code == 0, made.output
    assert json.loads(made.stdout)["slug"] == "grand-theatre"
    imported = run(
        "import", PLANS / "pretix_playhouse.json", "--price", "Gold=49.90", "--price", "20",
        "--area", "Standing=800:Silver", "--json",
    )  # fmt: skip
    assert imported.exit_code == 0, imported.output
    summary = json.loads(imported.stdout)
    assert summary["standing"] == 800
    assert [c["price_minor"] for c in summary["categories"]] == [4990, 2000, 2000]
    assert run("import", PLANS / "playhouse.csv", "--name", "Small house").exit_code == 0
    listed = json.loads(run("list", "--json").stdout)
    assert [(v["slug"], v["seats"]) for v in listed] == [
        ("small-house", 6),
        ("playhouse", 16),
        ("grand-theatre", 120),
    ]
    assert "Grand Théâtre" in run("list").stdout
    newest = run("list", "--most", 2)
    assert ("small-house" in newest.stdout, "grand-theatre" in newest.stdout) == (True, False)
    assert "These are the newest 2; --most names another number." in newest.stdout


def test_no_more_plans_are_read_than_are_listed(conn):
    for number in range(3):
        save_venue(conn, f"hall-{number}", replace(make("hall", 0), name=f"Hall {number}"))
    conn.execute("UPDATE venue SET plan = 'not a plan' WHERE slug = 'hall-0'")
    assert [venue.slug for venue in newest_venues(conn, 2)] == ["hall-2", "hall-1"]


def test_importing_twice_is_fine_and_another_plan_under_the_name_is_not(run):
    assert run("import", PLANS / "pretix_sample.json").exit_code == 0
    assert run("import", PLANS / "pretix_sample.json").exit_code == 0
    refused = run("import", PLANS / "pretix_sample.json", "--price", "99")
    assert refused.exit_code == 1
    assert "Nothing was saved" in refused.stderr
    assert "another plan" in refused.stderr


def test_a_wrong_file_imports_nothing_and_says_where_and_why(run, tmp_path):
    wrong = tmp_path / "wrong.json"
    wrong.write_text((PLANS / "pretix_sample.json").read_text().replace("hall-1-2", "hall-1-1"))
    refused = run("import", wrong, "--json")
    assert refused.exit_code == 1
    told = json.loads(refused.stdout)
    assert (told["code"], told["place"]) == ("plan_invalid", "zones[0].rows[0].seats[1].seat_guid")
    assert "already the seat_guid of zones[0].rows[0].seats[0]" in run("import", wrong).stderr
    assert run("list", "--json").stdout == "[]\n"
    assert "No venues yet" in run("list").stdout


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["import", "README.md"], "neither .json nor .csv"),
        (["import", "none.csv"], "No such file"),
        (["import", "playhouse.csv", "--area", "Bar=5:Gold"], "for pretix plans"),
        (["import", "pretix_sample.json", "--area", "Bar"], "NAME=CAPACITY:CATEGORY"),
        (["import", "pretix_sample.json", "--price", "Parquet=much"], "an amount"),
        (["import", "pretix_sample.json", "--stage", "left"], "400,20"),
        (["import", "pretix_sample.json", "--name", "☃"], "--slug"),
    ],
)
def test_a_wrong_option_says_what_to_write_instead(run, monkeypatch, arguments, reason):
    monkeypatch.chdir(PLANS)
    refused = run(*arguments)
    assert refused.exit_code == 1
    assert reason in refused.stderr


def test_a_plan_can_be_checked_without_a_database(monkeypatch):
    monkeypatch.setenv("DATABASE_URL", "postgresql://nobody@127.0.0.1:1/none")
    monkeypatch.setenv("REDIS_URL", "redis://127.0.0.1:1/0")
    checked = CliRunner().invoke(app, ["import", str(PLANS / "spreadsheet.csv"), "--check"])
    assert checked.exit_code == 0
    assert "4 seats in 1 sections; checked, nothing saved" in checked.stdout
