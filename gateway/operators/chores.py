"""The operators' HTTP for what is done beside the sale: `/v1/operator/chores`. For Prometheus there is
`gateway.operators.beside`.
"""

from __future__ import annotations

import msgspec
from fastapi import APIRouter, Depends, Request, Response

from gateway.operators.access import answer, in_database, require_viewer
from store.chores import runs
from store.payments import stuck

router = APIRouter(prefix="/v1/operator", tags=["operators"], dependencies=[Depends(require_viewer)])


@router.get("/chores")
async def list_chores(request: Request) -> Response:
    """When each chore last ran, how long it took and what failed; `trouble` says what needs a hand, and
    `stuck_refunds` which refunds their provider will never give."""
    found, by_hand = await in_database(request, lambda conn: (runs.read(conn), stuck.read(conn)))
    told = [{**msgspec.to_builtins(one), "trouble": one.trouble} for one in found]
    return answer({"chores": told, "stuck_refunds": by_hand})
