"""A headless Chromium to measure pages in, spoken to by its own protocol; nothing but Chromium is needed.

One tab. Input goes through the browser as a person's would: through its event queue, not as events made
by scripts of the page.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from websockets.sync.client import ClientConnection, connect

from store.errors import OnsaleError

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--remote-debugging-port=0",
)
ANSWER_SECONDS_MAX = 30.0
FRAME_BYTES_MAX = 16 * 1024 * 1024
END_SECONDS_MAX = 10.0


class NoBrowser(OnsaleError):
    """There is no Chromium here: install the chromium package."""


class Tab:
    """A page in a browser. Every call but the mouse's waits for its answer."""

    def __init__(self, connection: ClientConnection) -> None:
        self._connection = connection
        self._last_id = 0
        self._session: dict[str, str] = {}

    def attach(self) -> None:
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = {"sessionId": attached["sessionId"]}

    def call(self, method: str, **params: object) -> dict[str, Any]:
        """The result of a command; raises `OnsaleError` with what the browser says is wrong."""
        self._send(method, params)
        while True:
            answer = json.loads(self._connection.recv(timeout=ANSWER_SECONDS_MAX))
            if answer.get("id") != self._last_id:
                continue  # an event, or the answer to a mouse
            if "error" in answer:
                raise OnsaleError(f"The browser refused {method}: {answer['error']['message']}")
            result: dict[str, Any] = answer["result"]
            return result

    def _send(self, method: str, params: dict[str, object]) -> None:
        self._last_id += 1
        command = {"id": self._last_id, "method": method, "params": params, **self._session}
        self._connection.send(json.dumps(command))

    def evaluate(self, expression: str) -> Any:
        """The value of a JavaScript expression; of a promise, what it comes to."""
        answer = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in answer:
            raise OnsaleError(f"The page threw: {answer['exceptionDetails'].get('exception', answer)}")
        return answer["result"].get("value")

    def open(self, url: str, ready: str) -> None:
        """Go there, and on when `ready`, an expression, is true."""
        self.call("Page.navigate", url=url)
        self.evaluate(
            f"""new Promise((done, refuse) => {{
              const until = performance.now() + {ANSWER_SECONDS_MAX * 500};
              const look = () => {{
                if ({ready}) return done(true);
                if (performance.now() > until) return refuse(new Error("{url} was not ready in time"));
                requestAnimationFrame(look);
              }};
              look();
            }})"""
        )

    def mouse(self, kind: str, x: float, y: float, **more: object) -> None:
        """`mouseMoved`, `mousePressed`, `mouseReleased` or `mouseWheel` at a point of the page.

        Sent without waiting: the browser answers when the page has dealt with it, a mouse waits for nothing.
        """
        self._send("Input.dispatchMouseEvent", {"type": kind, "x": x, "y": y, **more})


@contextmanager
def browser_tab(width: int, height: int, pixel_ratio: float = 1.0) -> Iterator[Tab]:
    """A tab of this size in a browser of its own, which ends with the block."""
    executable = next((found for name in NAMES if (found := shutil.which(name))), None)
    if executable is None:
        raise NoBrowser
    size = (f"--window-size={width},{height}", f"--force-device-scale-factor={pixel_ratio}")
    with tempfile.TemporaryDirectory(prefix="onsale-browser-", ignore_cleanup_errors=True) as profile:
        argv = [executable, *FLAGS, *size, f"--user-data-dir={profile}", "about:blank"]
        process = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        try:
            address = _address(process)
            with connect(address, max_size=FRAME_BYTES_MAX, compression=None) as connection:
                tab = Tab(connection)
                tab.attach()
                yield tab
        finally:
            _end(process)


def _address(process: subprocess.Popen[str]) -> str:
    """Where the browser listens: it says so on stderr when it does."""
    assert process.stderr is not None, "stderr was asked for as a pipe"
    for line in process.stderr:
        if line.startswith("DevTools listening on "):
            return line.removeprefix("DevTools listening on ").strip()
    raise OnsaleError("Chromium ended before it listened; start it by hand to see why.")


def _end(process: subprocess.Popen[str]) -> None:
    process.terminate()
    try:
        process.wait(END_SECONDS_MAX)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    if process.stderr is not None:
        process.stderr.close()
