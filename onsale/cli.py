"""The command line. A command's module is imported when that command runs, so `--help` is quick and a
command that is broken breaks nothing else.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from onsale.errors import OnsaleError

PROGRAM = "./run"
GATEWAYS_MAX = 16
PASSES_ON = {"allow_extra_args": True, "ignore_unknown_options": True}

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    help="onsale: sells seats at the moment everyone wants them.",
)

DataDirOption = Annotated[
    Path | None,
    typer.Option(
        "--data-dir", help="Where the embedded engines keep their data. [dim]ONSALE_DATA_DIR or .data[/]"
    ),
]


def main() -> None:
    """Runs one command. What a person can mend is told in a sentence or two, without a traceback."""
    try:
        app(prog_name=PROGRAM)
    except OnsaleError as error:
        Console(stderr=True).print(Text(f"✗ {error}", style="red"), soft_wrap=True)
        raise SystemExit(1) from None
    except KeyboardInterrupt:
        raise SystemExit(130) from None


@app.command()
def up(
    host: Annotated[str, typer.Option(help="Address to listen on; 0.0.0.0 for all.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port to listen on.")] = 8000,
    gateways: Annotated[
        int, typer.Option(min=1, max=GATEWAYS_MAX, help="How many share the address; one uses one core.")
    ] = 1,
    data_dir: DataDirOption = None,
    demo: Annotated[bool, typer.Option(help="Make a demo event whose page gives out tokens.")] = True,
) -> None:
    """Start everything here and open the doors."""
    from onsale.engines import default_data_dir
    from onsale.up import run_until_stopped

    home = data_dir or default_data_dir()
    run_until_stopped(host=host, port=port, data_dir=home, demo=demo, gateways=gateways)


@app.command(context_settings=PASSES_ON)
def test(context: typer.Context) -> None:
    """Every check and every test; what follows goes to pytest: [bold]./run test -- -k stream[/bold]"""
    from onsale.checks import run_checks

    raise typer.Exit(run_checks(context.args))


@app.command()
def doctor(
    as_json: Annotated[bool, typer.Option("--json", help="For programs.")] = False,
    data_dir: DataDirOption = None,
) -> None:
    """What is wrong here, and what to do about it. Exit code 1 when something needs a hand now."""
    from onsale.doctor import examine, show
    from onsale.engines import default_data_dir

    report = examine(data_dir or default_data_dir())
    show(report, as_json=as_json)
    raise typer.Exit(0 if report.healthy else 1)


@app.command()
def reset(
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False, data_dir: DataDirOption = None
) -> None:
    """Remove the embedded engines' data: every venue, event, order and log."""
    from onsale.engines import DataDir, default_data_dir

    home = DataDir(data_dir or default_data_dir())
    if not home.path.exists():
        typer.echo(f"There is nothing in {home.path}.")
        return
    home.require_removable()
    if not yes:
        typer.confirm(f"Remove everything in {home.path}, orders included?", abort=True)
    home.remove()
    typer.echo(f"Removed {home.path}.")


def _mount(name: str, help_text: str, module: str, attribute: str) -> None:
    """A command whose options and subcommands are told by its own module, imported when it runs."""

    @app.command(name, help=help_text, context_settings=PASSES_ON, add_help_option=False)
    def passes_on(context: typer.Context) -> None:
        found = getattr(importlib.import_module(module), attribute)
        if not isinstance(found, typer.Typer):
            inner = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
            inner.command(name)(found)
            found = inner
        found(args=context.args, prog_name=f"{PROGRAM} {name}")


_mount("venue", "Import, check and list seating plans.", "onsale.commands.venue", "app")
_mount("event", "Create an event, open it, pause it, close it.", "onsale.commands.event", "app")
_mount("room", "An event's waiting room: make it, see it, pace it.", "onsale.commands.room", "app")
_mount("draw", "The waiting room's draw: anybody checks it.", "onsale.commands.draw", "app")
_mount("chores", "What is done beside the sale: list, run one now.", "onsale.commands.chores", "app")
_mount("fleet", "Hosts and workers: who runs what; move, drain, keep.", "onsale.commands.fleet", "app")
_mount("scale", "How many workers an event has, and whether its own.", "onsale.commands.fleet", "scale")
_mount(
    "worker",
    "Add this machine to a running onsale, with so many allocator workers.",
    "onsale.commands.worker",
    "worker",
)
_mount("buyer", "Find a buyer of an event, tell their whole story.", "onsale.commands.buyer", "app")
_mount("erase", "Erase a buyer's personal data; decisions stay verifiable.", "onsale.commands.erase", "erase")
_mount("tour", "Create a tour, add an event to it.", "onsale.commands.tour", "app")
_mount("key", "Operators' keys: create, list, rotate, revoke.", "onsale.commands.key", "app")
_mount("audit", "Who did what by hand, when and why.", "onsale.commands.audit", "audit")
_mount("webhook", "Say who is told what becomes true, and how it went.", "onsale.commands.webhook", "app")
_mount(
    "ticket",
    "Check tickets without a database; write down what a door needs.",
    "onsale.commands.ticket",
    "app",
)
_mount(
    "stampede",
    "Let thousands of buyers storm a throwaway onsale and check every law.",
    "onsale.commands.stampede",
    "stampede",
)
_mount(
    "rehearse",
    "Let buyers storm a copy of an event; say how many gateways it needs, at which pace.",
    "onsale.commands.rehearse",
    "rehearse",
)
_mount(
    "verify",
    "Replay an event's ledger: does every decision stand?",
    "onsale.commands.verify",
    "verify",
)
_mount("backup", "Everything in Postgres in one checked file.", "onsale.commands.backup", "backup")
_mount("restore", "Bring a backup back into an empty database.", "onsale.commands.backup", "restore")
_mount("bench", "Measure, side by side with other designs.", "onsale.commands.bench", "app")
_mount(
    "simulate",
    "Thousands of whole on-sales with crashes, in virtual time: does every law hold?",
    "onsale.commands.simulate",
    "simulate",
)
_mount(
    "torture",
    "Kill, stop and cut a real onsale under load, and judge what everybody saw.",
    "onsale.commands.torture",
    "torture",
)
_mount(
    "storm",
    "Thousands pay for their holds while everything breaks: is all money accounted for?",
    "onsale.commands.storm",
    "storm",
)
_mount("mutants", "Break each guard on purpose: which test notices?", "onsale.commands.mutants", "mutants")
