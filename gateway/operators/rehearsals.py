"""The operators' HTTP for rehearsals: have one run, see how far it is and what it takes.

`POST …/rehearsals` asks for one: a stampede of so many buyers against a copy of the event, on a throwaway
onsale of the chores' machine, one at a time. Its result is what `./run rehearse EVENT --json` prints.
"""

from __future__ import annotations

from typing import Annotated, Any

import psycopg
from fastapi import APIRouter, Depends, Path, Request, Response
from msgspec import Meta, Struct

from gateway.operators.access import (
    answer,
    body_described,
    in_database,
    read_body,
    require_operator,
    require_viewer,
    said_by,
)
from gateway.operators.said import Note
from store.rehearsals import rows
from store.rehearsals.words import BUYERS_MAX, SIZED_FOR_MAX, Rehearsal

Conn = psycopg.Connection[Any]

_Buyers = Annotated[int, Meta(extra_json_schema={"minimum": 1, "maximum": BUYERS_MAX})]
_SizedFor = Annotated[int, Meta(extra_json_schema={"minimum": 1, "maximum": SIZED_FOR_MAX})]
Id = Annotated[int, Path(ge=1, lt=2**63)]


class NewRehearsal(Note, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """So many buyers storm the copy; `sized_for`: for so many the sizing is, as many unless said.

    `beside_a_sale`: also while an event of this onsale is open, where rehearsals have a machine of their own.
    """

    buyers: _Buyers
    sized_for: _SizedFor | None = None
    beside_a_sale: bool = False


class Rehearsals(Struct, frozen=True):
    rehearsals: list[Rehearsal]


router = APIRouter(prefix="/v1/operator", tags=["operators"])


@router.post(
    "/events/{event}/rehearsals",
    status_code=202,
    openapi_extra=body_described(NewRehearsal),
    dependencies=[Depends(require_operator)],
)
async def ask(request: Request, event: str) -> Response:
    """Have one run: 202, and `Location` says where it is told of. 409 `sale_running` while an event is open,
    `rehearsal_running`."""
    wish = await read_body(request, NewRehearsal)
    said = said_by(request, wish.who, wish.why, does="a rehearsal")

    def work(conn: Conn) -> Rehearsal:
        return rows.ask(
            conn,
            event,
            said,
            buyers=wish.buyers,
            sized_for=wish.sized_for,
            beside_a_sale=wish.beside_a_sale,
        )

    made = await in_database(request, work)
    return answer(made, 202, {"Location": f"/v1/operator/events/{event}/rehearsals/{made.id}"})


@router.get("/events/{event}/rehearsals", dependencies=[Depends(require_viewer)])
async def list_rehearsals(request: Request, event: str) -> Response:
    """The last fifty, newest first."""
    return answer(Rehearsals(await in_database(request, lambda conn: rows.listed(conn, event))))


@router.get("/events/{event}/rehearsals/{rehearsal}", dependencies=[Depends(require_viewer)])
async def show_rehearsal(request: Request, event: str, rehearsal: Id) -> Response:
    """How far it is, or what came of it. 404 `unknown_rehearsal`."""
    return answer(await in_database(request, lambda conn: rows.read(conn, event, rehearsal)))
