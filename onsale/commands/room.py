"""`room`: an event's waiting room: make it, see how it stands, change it, pause, resume and stop admission,
tell all who wait something, give it a look. Each change with who and why.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from onsale.commands import room_codes, room_refused
from onsale.commands import room_view as view
from onsale.commands.event_seats import (
    DataDirOption,
    JsonOption,
    SlugArgument,
    WhoOption,
    WhyOption,
    name_of,
)
from onsale.commands.plainly import print_json, print_plainly, told_plainly, with_engines
from store import audit
from store.audit import Said
from store.errors import BadRequest
from store.events import get_event
from store.room import operating, standing
from store.room.look import Look
from store.room.rooms import Conn
from store.room.standing import ShownRoom, shown
from store.room.words import Admission, Proof, Room, RoomPolicy, RoomTerms
from store.stream.wake import tell_room

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="An event's waiting room: make, show, change; pause, resume, stop; message; look; codes; refused.",
)

PolicyOption = Annotated[
    RoomPolicy | None,
    typer.Option("--policy", help="draw: who joins before the sale begins is drawn. fifo: as they come."),
]
BallotOption = Annotated[
    bool | None, typer.Option("--ballot/--no-ballot", help="Wishes are filed before and decided as drawn.")
]
PaceOption = Annotated[int | None, typer.Option("--pace", help="Most buyers admitted a minute.")]
ShoppingOption = Annotated[
    int | None, typer.Option("--shopping-max", help="Most buyers admitted and not gone at a time.")
]
BeginOption = Annotated[
    int | None, typer.Option("--begin-seconds", help="So long who is admitted has to begin. Default: 180.")
]
ShoppingSecondsOption = Annotated[
    int | None, typer.Option("--shopping-seconds", help="So long who began may choose. Default: 900.")
]
MoreBeginOption = Annotated[
    int | None,
    typer.Option("--more-begin", help="So often who asks gets more time to begin. Default: 3; 0: never."),
]
MoreShoppingOption = Annotated[
    int | None,
    typer.Option("--more-shopping", help="So often who asks gets half as long again to choose. Default: 3."),
]
ProofOption = Annotated[
    Proof | None, typer.Option("--proof", help="When who joins proves that a computer worked for it.")
]
ProofAboveOption = Annotated[
    int | None, typer.Option("--proof-above", help="Joins a minute at one gateway above which it is busy.")
]
EditionOption = Annotated[
    int | None, typer.Option("--edition", help="Refuse where somebody changed the room since this one.")
]


@app.command("make")
def make(
    slug: SlugArgument,
    why: WhyOption,
    policy: PolicyOption = None,
    ballot: BallotOption = None,
    pace: PaceOption = None,
    shopping_max: ShoppingOption = None,
    begin_seconds: BeginOption = None,
    shopping_seconds: ShoppingSecondsOption = None,
    more_begin: MoreBeginOption = None,
    more_shopping: MoreShoppingOption = None,
    proof: ProofOption = None,
    proof_above: ProofAboveOption = None,
    who: WhoOption = None,
    data_dir: DataDirOption = None,
    as_json: JsonOption = False,
) -> None:
    """Give a draft a waiting room; prints the SHA-256 of its draw's seed, to be published."""
    terms = _given(
        policy=policy,
        ballot=ballot,
        pace=pace,
        shopping_max=shopping_max,
        begin_seconds=begin_seconds,
        shopping_seconds=shopping_seconds,
        more_begin_max=more_begin,
        more_shopping_max=more_shopping,
        proof=proof,
        proof_above_per_minute=proof_above,
    )
    _change(
        slug,
        who,
        why,
        data_dir,
        as_json,
        lambda conn, said: operating.make(conn, slug, RoomTerms(**terms), said),
        view.made,
    )


@app.command("show")
def show(slug: SlugArgument, data_dir: DataDirOption = None, as_json: JsonOption = False) -> None:
    """How it stands: who waits, who is inside, how fast it goes."""
    with told_plainly(as_json), with_engines(data_dir) as (conn, _):
        told = standing.read(conn, slug)
    if as_json:
        print_json(told)
    else:
        print_plainly(view.standing(told))


@app.command("change")
def change(
    slug: SlugArgument,
    why: WhyOption,
    policy: PolicyOption = None,
    ballot: BallotOption = None,
    pace: PaceOption = None,
    no_pace: Annotated[
        bool, typer.Option("--no-pace", help="As many a minute as there is room for.")
    ] = False,
    shopping_max: ShoppingOption = None,
    no_shopping_max: Annotated[bool, typer.Option("--no-shopping-max", help="Any number at a time.")] = False,
    begin_seconds: BeginOption = None,
    shopping_seconds: ShoppingSecondsOption = None,
    more_begin: MoreBeginOption = None,
    more_shopping: MoreShoppingOption = None,
    proof: ProofOption = None,
    proof_above: ProofAboveOption = None,
    edition: EditionOption = None,
    who: WhoOption = None,
    data_dir: DataDirOption = None,
    as_json: JsonOption = False,
) -> None:
    """Other terms from now on; what is left out stays. Policy and ballot only while it is a draft."""
    terms = _given(
        policy=policy,
        ballot=ballot,
        pace=pace,
        shopping_max=shopping_max,
        begin_seconds=begin_seconds,
        shopping_seconds=shopping_seconds,
        more_begin_max=more_begin,
        more_shopping_max=more_shopping,
        proof=proof,
        proof_above_per_minute=proof_above,
    )
    lifted = [name for name, said in (("pace", no_pace), ("shopping_max", no_shopping_max)) if said]
    with told_plainly(as_json):
        if both := [name for name in lifted if name in terms]:
            option = both[0].replace("_", "-")
            raise BadRequest("invalid_room", f"Say either --{option} or --no-{option}.")

    def work(conn: Conn, said: Said) -> Room:
        return operating.change(conn, slug, said, edition, **(terms | dict.fromkeys(lifted)))

    _change(slug, who, why, data_dir, as_json, work, view.changed)


@app.command("pause")
def pause(
    slug: SlugArgument,
    why: WhyOption,
    who: WhoOption = None,
    data_dir: DataDirOption = None,
    as_json: JsonOption = False,
) -> None:
    """Admit nobody for now; who is inside goes on."""
    _admit(slug, Admission.PAUSED, who, why, data_dir, as_json)


@app.command("resume")
def resume(
    slug: SlugArgument,
    why: WhyOption,
    who: WhoOption = None,
    data_dir: DataDirOption = None,
    as_json: JsonOption = False,
) -> None:
    """Admit again, after a pause or a stop."""
    _admit(slug, Admission.RUNNING, who, why, data_dir, as_json)


@app.command("stop")
def stop(
    slug: SlugArgument,
    why: WhyOption,
    who: WhoOption = None,
    data_dir: DataDirOption = None,
    as_json: JsonOption = False,
) -> None:
    """Admit nobody any more, and say so to who waits; who is inside goes on."""
    _admit(slug, Admission.STOPPED, who, why, data_dir, as_json)


@app.command("message")
def message(
    slug: SlugArgument,
    why: WhyOption,
    text: Annotated[str | None, typer.Argument(help="What all who wait read.")] = None,
    clear: Annotated[bool, typer.Option("--clear", help="No message any more.")] = False,
    edition: EditionOption = None,
    who: WhoOption = None,
    data_dir: DataDirOption = None,
    as_json: JsonOption = False,
) -> None:
    """Tell all who wait something, or nothing any more."""
    with told_plainly(as_json):
        if (text is None) is not clear:
            raise BadRequest("invalid_message", "Say what to tell them, or --clear.")

    def work(conn: Conn, said: Said) -> Room:
        return operating.say(conn, slug, text, said, edition)

    _change(slug, who, why, data_dir, as_json, work, view.said)


@app.command("look")
def dress(
    slug: SlugArgument,
    file: Annotated[
        Path,
        typer.Argument(help="JSON: name, accent (#rrggbb), lang, texts. What it leaves out is onsale's."),
    ],
    why: WhyOption,
    edition: EditionOption = None,
    who: WhoOption = None,
    data_dir: DataDirOption = None,
    as_json: JsonOption = False,
) -> None:
    """Give it your name, colour, language and texts."""
    with told_plainly(as_json):
        look = _look_in(file)

    def work(conn: Conn, said: Said) -> Room:
        return operating.dress(conn, slug, look, said, edition)

    _change(slug, who, why, data_dir, as_json, work, view.dressed)


def _given(**terms: Any) -> dict[str, Any]:
    """Without what was left out."""
    return {name: value for name, value in terms.items() if value is not None}


def _look_in(file: Path) -> Look:
    try:
        return msgspec.json.decode(file.read_bytes(), type=Look)
    except (OSError, msgspec.DecodeError) as error:
        raise BadRequest("invalid_look", f"{file} is no look: {error}.") from None


def _admit(
    slug: str, to: Admission, who: str | None, why: str, data_dir: DataDirOption, as_json: bool
) -> None:
    def work(conn: Conn, said: Said) -> Room:
        return operating.admit(conn, slug, to, said)

    _change(slug, who, why, data_dir, as_json, work, view.admission)


def _change(
    slug: str,
    who: str | None,
    why: str,
    data_dir: DataDirOption,
    as_json: bool,
    work: Callable[[Conn, Said], Room],
    told: Callable[[ShownRoom], str],
) -> None:
    with told_plainly(as_json), with_engines(data_dir) as (conn, urls):
        room = work(conn, audit.said(name_of(who), why))
        tell_room(urls.redis_url, slug, room.version)
        now = shown(room, slug, get_event(conn, slug).state)
    if as_json:
        print_json(now)
    else:
        print_plainly(told(now))


app.command("codes")(room_codes.codes)
app.command("revoke")(room_codes.revoke)
app.command("refused")(room_refused.refused)
