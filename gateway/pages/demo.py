"""Demo only: a thousand buyers against one seat, started from the page to see what happens.

The load generator runs in a process of its own (`python -m onsale stampede`), one at a time, with
bounds on buyers and time, and ends when the gateway stops. It is aimed at the socket this request
came in on, never at a host a client could name.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
from collections import OrderedDict
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal
from uuid import uuid4

from fastapi import APIRouter, FastAPI, Request
from pydantic import BaseModel, Field
from starlette.responses import JSONResponse

BUYERS_MAX = 5_000
SEATS_MAX = 1_000
SECONDS_MAX = 60.0
RUNS_KEPT_MAX = 20
_LINE_BYTES_MAX = 256 * 1024


class StampedeWish(BaseModel, extra="forbid"):
    """How many buyers for how many seats, with the fast gate on or off."""

    buyers: Annotated[int, Field(ge=1, le=BUYERS_MAX)] = 1_000
    seats: Annotated[int, Field(ge=1, le=SEATS_MAX)] = 1
    gate: Literal["on", "off"] = "on"


@dataclass
class Run:
    """One stampede: `running → done / failed`. `result` is the generator's own JSON: it tells of broken
    laws too, so a run with a result is done, whatever the generator's exit code."""

    wish: StampedeWish
    id: str = field(default_factory=lambda: uuid4().hex)
    state: Literal["running", "done", "failed"] = "running"
    result: dict[str, Any] | None = None
    message: str = ""

    def answer(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "state": self.state,
            **self.wish.model_dump(),
            "result": self.result,
            "message": self.message,
        }


def command(wish: StampedeWish, url: str) -> list[str]:
    """The command line of the load generator."""
    options = ["--buyers", str(wish.buyers), "--seats", str(wish.seats), "--gate", wish.gate]
    return [sys.executable, "-m", "onsale", "stampede", *options, "--url", url, "--json"]


class Stampedes:
    """Runs at most one at a time and remembers the last few."""

    def __init__(self) -> None:
        self._runs: OrderedDict[str, Run] = OrderedDict()
        self._task: asyncio.Task[None] | None = None

    @property
    def running(self) -> bool:
        return self._task is not None and not self._task.done()

    def start(self, wish: StampedeWish, argv: Sequence[str]) -> Run:
        assert not self.running, "A stampede is running; ask `running` before starting another."
        run = Run(wish)
        self._runs[run.id] = run
        while len(self._runs) > RUNS_KEPT_MAX:
            self._runs.popitem(last=False)
        self._task = asyncio.create_task(_drive(run, argv))
        return run

    def find(self, run_id: str) -> Run | None:
        return self._runs.get(run_id)

    async def stop(self) -> None:
        """Ends the running one and its process."""
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task


async def _drive(run: Run, argv: Sequence[str]) -> None:
    process = await asyncio.create_subprocess_exec(
        *argv,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        limit=_LINE_BYTES_MAX,
    )
    try:
        async with asyncio.timeout(SECONDS_MAX):
            await _read(run, process)
            await process.wait()
        if run.result is None and not run.message:
            run.message = "The load generator stopped without a result. Run ./run stampede to see why."
    except TimeoutError:
        run.message = f"It took longer than {SECONDS_MAX:.0f} seconds and was stopped. Try fewer buyers."
    except ValueError:
        run.message = "The load generator wrote a line that is too long."
    finally:
        run.state = "failed" if run.result is None else "done"
        if process.returncode is None:
            process.kill()
            await process.wait()


async def _read(run: Run, process: asyncio.subprocess.Process) -> None:
    """Takes JSON lines: the result, or one `error` sentence."""
    assert process.stdout is not None, "stdout was asked for as a pipe"
    async for line in process.stdout:
        try:
            told = json.loads(line)
        except ValueError:
            continue
        if isinstance(told, dict) and "oversold" in told:
            run.result = told
        elif isinstance(told, dict) and "error" in told:
            run.message = str(told["error"])


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    """Ends what runs when the gateway does."""
    stampedes = Stampedes()
    app.state.stampedes = stampedes
    try:
        yield
    finally:
        await stampedes.stop()


router = APIRouter(prefix="/v1/demo/stampede", tags=["demo"])


def _problem(status: int, code: str, detail: str, **headers: str) -> JSONResponse:
    body = {"type": "about:blank", "status": status, "code": code, "title": detail, "detail": detail}
    return JSONResponse(body, status, headers, media_type="application/problem+json")


def _own_url(request: Request) -> str:
    """The address this server was reached at, by its own socket: the Host header is a client's word."""
    host, port = request.scope["server"]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"


@router.post("", status_code=202)
async def start(request: Request, wish: StampedeWish) -> JSONResponse:
    """Starts a stampede: 202 with its id, 404 outside a demo, 429 while another one runs."""
    if not request.app.state.runtime.settings.demo:
        return _problem(404, "not_found", "Stampedes run in a demo only: start one with ./run demo.")
    if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        return _problem(403, "origin_refused", "Start a stampede from the event's own page.")
    stampedes: Stampedes = request.app.state.stampedes
    if stampedes.running:
        detail = "A stampede is running. Wait until it is over, then start yours."
        return _problem(429, "stampede_running", detail, **{"Retry-After": "5"})
    run = stampedes.start(wish, command(wish, _own_url(request)))
    return JSONResponse(run.answer(), 202, {"Location": f"/v1/demo/stampede/{run.id}"})


@router.get("/{run_id}")
async def show(request: Request, run_id: str) -> JSONResponse:
    """How far it is, and what came out."""
    run = request.app.state.stampedes.find(run_id)
    if run is None:
        return _problem(404, "not_found", "No stampede has this id. Start one with POST /v1/demo/stampede.")
    return JSONResponse(run.answer(), headers={"Cache-Control": "no-store"})
