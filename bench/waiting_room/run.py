"""`./run bench waiting-room`: the figures onsale promises of its waiting room, on throwaway onsales.

| row | what is measured |
|---|---|
| `joins`, `joins_in_line` | buyers a second who join over HTTP, each answered when its place is on disk |
| `joins_p99`, `server_cpu_per_join` | such a join's answer; what gateway and Postgres spend on one |
| `draw` | a million places drawn by the event's owner, from the lobby's end to the commit |
| `ballot`, `ballot_draw` | 200,000 wishes decided, from the lobby's end; of it, the draw |
| `status_document` | the document that tells everybody how the line stands, over HTTP |
| `sockets`, `sockets_two_gateways` | who waits, on websockets of one gateway process, and of two |
| `memory_per_waiting_socket…` | growth of a gateway's resident memory for each |
| `serving_number_heard…` | from the commit of a new serving number to the last socket that hears of it |

It is not part of `./run bench all`, which has to end within fifteen minutes.
"""

from __future__ import annotations

from bench import running
from bench.effort import Effort
from bench.report import Report, Say
from bench.running import Measure
from bench.waiting_room.rows_asking import measure_documents, measure_joins
from bench.waiting_room.rows_opening import measure_ballot, measure_draw
from bench.waiting_room.rows_sockets import measure_sockets

_OF_SOCKETS = ("sockets", "memory_per_waiting_socket", "serving_number_heard")
GROUPS: dict[str, tuple[Measure, tuple[str, ...]]] = {
    "joining": (measure_joins, ("joins", "joins_in_line", "joins_p99", "server_cpu_per_join")),
    "drawing": (measure_draw, ("draw",)),
    "balloting": (measure_ballot, ("ballot", "ballot_draw")),
    "telling": (measure_documents, ("status_document",)),
    "waiting": (measure_sockets, (*_OF_SOCKETS, *[f"{name}_two_gateways" for name in _OF_SOCKETS])),
}


def run_waiting_room(only: list[str], say: Say, effort: Effort) -> Report:
    """Measure the rows with these names of groups or rows, for none all."""
    names = running.chosen(GROUPS, tuple(GROUPS), only, effort)
    return running.measure(GROUPS, names, say, effort)
