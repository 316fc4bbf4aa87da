"""`buyer`: find a buyer of an event by what they can say, tell their whole story (docs/console-feed.md)."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any

import typer

from onsale.commands.event_seats import DataDirOption, JsonOption, SlugArgument
from onsale.commands.plainly import print_json, print_plainly, told_plainly, with_engines
from store.console import story
from store.console.find import FOUND_MAX, Found
from store.console.find import find as find_in
from store.console.story import NEWEST
from store.events import get_event
from store.venues.reading import amount_shown

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Buyers of an event: find one, tell their story.",
)


@app.command("find")
def find(
    slug: SlugArgument,
    text: Annotated[
        str,
        typer.Argument(
            help="How an id begins, a mail address, a request, hold, order or payment, a ticket's code."
        ),
    ],
    limit: Annotated[int, typer.Option(min=1, max=FOUND_MAX, help="Most buyers to name.")] = 20,
    data_dir: DataDirOption = None,
    as_json: JsonOption = False,
) -> None:
    """Whose that is."""
    with told_plainly(as_json), with_engines(data_dir) as (conn, _):
        found = find_in(conn, get_event(conn, slug).id, text, limit)
    if as_json:
        print_json(found)
    else:
        print_plainly(_found(found, slug))


@app.command("show")
def show(
    slug: SlugArgument,
    buyer: Annotated[str, typer.Argument(help="The buyer's id; ./run buyer find tells it.")],
    before: Annotated[
        int | None, typer.Option(min=1, max=NEWEST, help="Older requests: those below this cursor.")
    ] = None,
    data_dir: DataDirOption = None,
    as_json: JsonOption = False,
) -> None:
    """Place, requests and why each was answered so, holds, payments, tickets and mails."""
    with told_plainly(as_json), with_engines(data_dir) as (conn, _):
        told = story.read(conn, get_event(conn, slug).id, slug, buyer, before=before)
    if as_json:
        print_json(told)
    else:
        print_plainly("\n".join(_story(told)))


def _found(found: Found, slug: str) -> str:
    if not found.found:
        return "Nobody. Try another word: a mail address, the number of an order, how the id begins."
    lines = [f"{one.buyer}  (by {one.by})" for one in found.found]
    lines += ["There are more; say more of it."] if found.more else []
    return "\n".join([*lines, f"Their story: ./run buyer show {slug} BUYER"])


def _story(told: dict[str, Any]) -> list[str]:
    lines = [f"{told['buyer']} at {told['event']}"]
    if told["erased"]:
        lines.append("Their personal data was erased.")
    if told["mail"]:
        lines.append(f"Mail: {', '.join(told['mail'])}")
    for place in told["places"]:
        at = "" if place["position"] is None else f", number {place['position']:,}"
        lines.append(f"Place {place['id']}: {place['state']}{at}, joined {_when(place['joined_at'])}")
    for request in told["requests"]:
        lines.append(f"{_when(request['arrived_at'])}  asked {request['asked']}: {request['outcome']}")
        lines.append(f"  {request['why']}")
    if told["requests_more"] is not None:
        lines.append(f"Older requests: --before {told['requests_more']}")
    lines += [f"Waiting list, by request {one['request']}: {one['state']}" for one in told["waiting"]]
    for hold in told["holds"]:
        areas = [f"{area} x {count}" for area, count in hold["areas"].items()]
        lines.append(
            f"Hold {hold['hold']} ({hold['state']}): {', '.join([*hold['seats'], *areas]) or 'nothing'}"
        )
    lines += [f"Payment {one['payment']} for hold {one['hold']}: {_paid(one)}" for one in told["payments"]]
    lines += [_ticket(ticket) for ticket in told["tickets"]]
    lines += [f"Mail about {mail['kind']} to {mail['address']}: {mail['state']}" for mail in told["mails"]]
    return lines


def _ticket(ticket: dict[str, Any]) -> str:
    seen = f", checked in {_when(ticket['checked_at'])}" if ticket["checked_at"] else ""
    return f"Ticket {ticket['ticket']} of order {ticket['order']}, held by {ticket['holder']}{seen}"


def _paid(payment: dict[str, Any]) -> str:
    paid, back = (amount_shown(payment[of], payment["currency"]) for of in ("amount_minor", "refunded_minor"))
    return f"{paid}, {payment['state']}" + (f", {back} given back" if payment["refunded_minor"] else "")


def _when(milliseconds: int) -> str:
    return datetime.fromtimestamp(milliseconds / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
