"""What the `room` and `draw` commands print for people."""

from __future__ import annotations

from datetime import UTC, datetime

from rich.console import Group, RenderableType
from rich.table import Table

from store.room.codes import Issued
from store.room.standing import ShownRoom, Standing
from store.room.words import Admission, Lane, PlaceState, Proof, RoomPolicy, RoomTerms
from store.words import EventState

POLICY = {
    RoomPolicy.DRAW: "Who joins before the sale begins is drawn; who comes later stands behind them.",
    RoomPolicy.FIFO: "Buyers stand as they come, from the first; nothing is drawn.",
}
PROOF = {
    Proof.OFF: "Nobody proves that a computer worked for their place.",
    Proof.BUSY: "Above {above:,} joins a minute, whoever joins proves that a computer worked for it.",
    Proof.ALWAYS: "Whoever joins proves that a computer worked for it.",
}
HEADINGS = ("waiting", "admitted", "finished", "expired", "left")


def made(room: ShownRoom) -> str:
    """After `room make`."""
    return (
        f"{room.event} has a waiting room. {terms(room.terms)}\n"
        f"Publish this before anybody joins; it is at /e/{room.event}/draw too: {room.seed_sha256}\n"
        f"Let buyers in with: ./run event lobby {room.event}"
    )


def terms(told: RoomTerms) -> str:
    """What the organiser decided."""
    pace = "as many a minute as there is room for" if told.pace is None else f"at most {told.pace:,} a minute"
    inside = "" if told.shopping_max is None else f", at most {told.shopping_max:,} at a time"
    ballot = (
        " Wishes are filed before, and decided in the draw's order when it begins." if told.ballot else ""
    )
    return (
        f"{POLICY[told.policy]}{ballot}\n"
        f"Admitted are {pace}{inside}; each has {told.begin_seconds:,} s to begin, then "
        f"{told.shopping_seconds:,} s to choose. {_more(told)}\n"
        f"{PROOF[told.proof].format(above=told.proof_above_per_minute)}"
    )


def _more(told: RoomTerms) -> str:
    if not told.more_begin_max and not told.more_shopping_max:
        return "Nobody is given more time."
    return (
        f"Who asks is given more time, up to {told.more_begin_max} times to begin and "
        f"{told.more_shopping_max} times to choose."
    )


def changed(room: ShownRoom) -> str:
    """After `room change`."""
    return f"{room.event} (edition {room.edition}). {terms(room.terms)}"


def admission(room: ShownRoom) -> str:
    """After `room pause`, `resume`, `stop`."""
    return {
        Admission.RUNNING: f"Admission to {room.event} goes on.",
        Admission.PAUSED: f"Nobody is admitted to {room.event} for now; who is inside goes on.",
        Admission.STOPPED: f"Nobody is admitted to {room.event} any more; who is inside goes on.",
    }[room.admission]


def said(room: ShownRoom) -> str:
    """After `room message`."""
    if room.message is None:
        return f"Who waits for {room.event} sees no message any more."
    return f"Who waits for {room.event} sees now: {room.message}"


def dressed(room: ShownRoom) -> str:
    """After `room look`."""
    return f"{room.event} has another look now; see it at /e/{room.event}."


def standing(told: Standing) -> RenderableType:
    """How a waiting room stands."""
    room = told.room
    lines = [f"{room.event} is {room.state}; {_phase(room)} Edition {room.edition}.", terms(room.terms)]
    if room.message is not None:
        lines.append(f"Message since {_moment(room.message_at)}: {room.message}")
    table = Table("line", box=None)
    for heading in (*HEADINGS, "called up to", "last"):
        table.add_column(heading, justify="right")
    ends = {
        Lane.ORDINARY: (room.serving, room.next_position - 1),
        Lane.PRIORITY: (room.serving_priority, room.next_priority - 1),
    }
    for lane, (serving, last) in ends.items():
        counts = [told.places[lane].get(PlaceState(state), 0) for state in HEADINGS]
        table.add_row(lane, *[f"{count:,}" for count in (*counts, serving, last)])
    rate = "not measured" if room.rate is None else f"{room.rate:,.0f} ordinary positions a minute"
    why = f", slower because of {room.reason}" if room.reason else ""
    moving = (
        f"{room.joined:,} joined, {room.admitted:,} were admitted, {told.shopping:,} are choosing now. "
        f"Pace: {rate}{why}."
    )
    return Group("\n".join(lines), "", table, "", moving, _draw(room), *_codes(told.codes))


def _phase(room: ShownRoom) -> str:
    if room.state is EventState.DRAFT:
        return f"buyers may join once its lobby begins: ./run event lobby {room.event}."
    if room.state is EventState.LOBBY:
        return "buyers join and wait for the sale to begin."
    if room.state is EventState.CLOSED:
        return "the sale is over."
    return f"admission is {room.admission}."


def _draw(room: ShownRoom) -> str:
    if room.drawn_at is None:
        return f"Not drawn yet. SHA-256 of the seed: {room.seed_sha256}"
    return (
        f"{room.drawn or 0:,} places were drawn at {_moment(room.drawn_at)}. Check it: /e/{room.event}/draw"
    )


def draw(room: ShownRoom) -> str:
    """`draw show`."""
    lines = [
        f"The draw of {room.event}: {POLICY[room.terms.policy]}",
        f"SHA-256 of the seed: {room.seed_sha256}",
    ]
    if room.seed is None:
        waits = "The lobby goes on" if room.drawn is None else f"{room.drawn:,} places are to be drawn"
        return "\n".join([*lines, f"{waits}; the seed is told once it is drawn."])
    drawn = f"{room.drawn or 0:,} places were drawn at {_moment(room.drawn_at)}."
    return "\n".join([*lines, f"Seed: {room.seed}", drawn])


def _codes(issued: list[Issued]) -> list[RenderableType]:
    return ["", codes(issued)] if issued else []


def codes(issued: list[Issued]) -> RenderableType:
    """How many codes there are by label, and what became of them; never the codes."""
    table = Table("codes for", box=None)
    for heading in ("codes", "used", "of", "revoked", "unused uses of those"):
        table.add_column(heading, justify="right")
    for one in issued:
        counts = (one.codes, one.uses, one.uses_max, one.revoked, one.uses_revoked)
        table.add_row(one.label, *[f"{count:,}" for count in counts])
    return table


def _moment(at_ms: int | None) -> str:
    assert at_ms is not None, "it has happened"
    return datetime.fromtimestamp(at_ms / 1_000, UTC).isoformat(" ", "seconds")
