"""What operators can do over HTTP is written down, and has a command: docs/protocol.md and `./run`."""

from __future__ import annotations

import importlib
import re

import pytest
import typer.main

from gateway.api import create_api
from gateway.settings import Settings
from onsale.cli import app
from onsale.engines.data_dir import REPOSITORY
from store.settings import EngineUrls
from tests.gateway.rig import SECRET

PROTOCOL = (REPOSITORY / "docs" / "protocol.md").read_text()
CELLS = [
    row.split(" | ")[0].replace("…/{event}", "/events/{event}")
    for row in PROTOCOL.split("\n## Operators\n")[1].split("\nCodes, ")[0].splitlines()
    if row.startswith("| `")
]
"""What can be asked, a row of the table each."""
BY_EVENT = "/v1/operator/events/{event}"

NO_COMMAND = {
    "/v1/operator/session": "the console's login; on this machine nobody has to log in",
    f"{BY_EVENT}/calling-off": "`event cancel` and `move` tell it, however often",
    f"{BY_EVENT}/tickets/check": "a door's question, about tokens; `ticket check` asks no server",
    f"{BY_EVENT}/samples": "numbers over time for charts; `event show` has those of now",
}
COMMANDS = {
    "/v1/operator/keys": "key list|create",
    "/v1/operator/keys/{key}": "key list",
    "/v1/operator/keys/{key}/rotate": "key rotate",
    "/v1/operator/keys/{key}/revoke": "key revoke",
    "/v1/operator/audit": "audit",
    f"{BY_EVENT}/audit": "event audit",
    "/v1/operator/events": "event list|create",
    BY_EVENT: "event show",
    f"{BY_EVENT}/waiting": "event waiting",
    f"{BY_EVENT}/lobby": "event lobby",
    f"{BY_EVENT}/open": "event open",
    f"{BY_EVENT}/pause": "event pause",
    f"{BY_EVENT}/resume": "event resume",
    f"{BY_EVENT}/close": "event close",
    f"{BY_EVENT}/policy": "event set",
    f"{BY_EVENT}/blocks": "event block",
    f"{BY_EVENT}/unblock": "event unblock",
    f"{BY_EVENT}/holds/{{hold}}/release": "event release-hold",
    f"{BY_EVENT}/sales": "event sell",
    f"{BY_EVENT}/orders/{{hold}}/return": "event return",
    f"{BY_EVENT}/categories": "event recategorise",
    f"{BY_EVENT}/prices": "event prices",
    f"{BY_EVENT}/room": "room show|make|change",
    f"{BY_EVENT}/room/pause": "room pause",
    f"{BY_EVENT}/room/resume": "room resume",
    f"{BY_EVENT}/room/stop": "room stop",
    f"{BY_EVENT}/room/message": "room message",
    f"{BY_EVENT}/room/look": "room look",
    f"{BY_EVENT}/room/codes": "room codes",
    f"{BY_EVENT}/room/codes/revoke": "room revoke",
    f"{BY_EVENT}/room/refused": "room refused",
    "/v1/operator/tours": "tour list|create",
    "/v1/operator/tours/{tour}": "tour show",
    "/v1/operator/tours/{tour}/events": "tour add",
    f"{BY_EVENT}/buyers": "buyer find",
    f"{BY_EVENT}/buyers/{{buyer}}": "buyer show",
    "/v1/operator/buyers/erase": "erase",
    "/v1/operator/chores": "chores",
    "/v1/operator/launches": "event list|launch",
    f"{BY_EVENT}/launch": "event show",
    f"{BY_EVENT}/export/{{what}}.{{kind}}": "event export",
    "/v1/operator/fleet": "fleet",
    "/v1/operator/fleet/log": "fleet log",
    f"{BY_EVENT}/fleet": "scale",
    f"{BY_EVENT}/fleet/move": "fleet move",
    "/v1/operator/fleet/hosts/{host}/drain": "fleet drain",
    "/v1/operator/fleet/hosts/{host}/keep": "fleet keep",
    f"{BY_EVENT}/figures": "event figures",
    f"{BY_EVENT}/settlement": "event settlement",
    f"{BY_EVENT}/settlement.csv": "event settlement",
    f"{BY_EVENT}/cancel": "event cancel",
    f"{BY_EVENT}/move": "event move",
    "/v1/operator/webhooks": "webhook list|add",
    "/v1/operator/webhooks/{subscriber}": "webhook show",
    **{
        f"/v1/operator/webhooks/{{subscriber}}/{does}": f"webhook {does}"
        for does in ("rotate", "disable", "enable", "replay", "test", "remove")
    },
    "/v1/operator/venues": "venue list|import",
    "/v1/operator/venues/preview": "venue import",
    "/v1/operator/venues/make": "venue make",
    "/v1/operator/venues/make/preview": "venue make",
    "/v1/operator/venues/{slug}": "venue list",
    f"{BY_EVENT}/rehearsals": "rehearse",
    f"{BY_EVENT}/rehearsals/{{rehearsal}}": "rehearse",
    f"{BY_EVENT}/tickets/export": "ticket export",
}


@pytest.fixture(scope="module")
def described():
    """(method, path) of each call that is published for operators."""
    engines = EngineUrls("postgresql://nobody@127.0.0.1:1/none", "redis://127.0.0.1:1/0")
    paths = create_api(Settings(engines=engines, token_secret=SECRET)).openapi()["paths"]
    ours = [path for path in paths if path.startswith("/v1/operator")]
    return [(method.upper(), path) for path in ours for method in paths[path]]


def is_written(method: str, path: str) -> bool:
    """One row has the method, the words of the path, and how it ends."""
    words = [part for part in path.removeprefix("/v1/operator/").split("/") if "{" not in part]
    ends = rf"/{re.escape(words[-1])}" + (r"/\{" if path.endswith("}") else r"(?![\w.-]|/\{)")
    of_room = "room" in words
    return any(
        method in cell
        and re.search(ends, cell)
        and all(word in cell for word in words[:-1])
        and of_room is ("/room" in cell)
        for cell in CELLS
    )


def test_every_call_of_operators_is_in_the_protocol(described):
    assert [call for call in described if not is_written(*call)] == []


def test_a_call_that_is_not_written_down_is_noticed():
    assert not is_written("POST", f"{BY_EVENT}/rewind")
    assert not is_written("DELETE", "/v1/operator/events")
    assert not is_written("GET", "/v1/operator/hosts/{host}")


def test_every_call_of_operators_has_a_command_or_a_reason(described):
    paths = {path for _, path in described}
    assert paths == COMMANDS.keys() | NO_COMMAND.keys()
    assert not COMMANDS.keys() & NO_COMMAND.keys()


@pytest.mark.parametrize("words", sorted(set(COMMANDS.values())))
def test_its_command_is_there(words):
    name, _, rest = words.partition(" ")
    assert name in {one.name for one in app.registered_commands}
    if not rest:
        return
    found = typer.main.get_command(importlib.import_module(f"onsale.commands.{name}").app)
    assert set(rest.split("|")) <= set(getattr(found, "commands", {}))
