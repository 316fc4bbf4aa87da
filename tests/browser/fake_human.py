"""A provider of human checks on a port of its own: a script with the part of Turnstile's and hCaptcha's that
pages use, a frame, answers that are good once, and siteverify.
"""

from __future__ import annotations

import itertools
import socket
import threading
import time
from contextlib import suppress
from urllib.parse import parse_qsl

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

SECRET, SITE_KEY = "the provider's secret", "the site's key"
BUTTON = "I am human"

SCRIPT = """
(() => {
  const from = new URL(document.currentScript.src).origin;
  const shown = [];
  window.NAME = {
    render(box, given) {
      const frame = document.createElement("iframe");
      frame.src = `${from}/frame`;
      frame.title = "Check";
      frame.height = 30;
      const button = document.createElement("button");
      Object.assign(button, { type: "button", textContent: "I am human" });
      Object.assign(button.dataset, { sitekey: given.sitekey, theme: given.theme, size: given.size });
      button.onclick = async () => {
        const { answer } = await (await fetch(`${from}/answer`)).json();
        button.textContent = "Thank you";
        given.callback(answer);
      };
      box.append(frame, button);
      shown.push({ box, button, given });
      return shown.length - 1;
    },
    reset(which) {
      shown[which].button.textContent = "I am human";
    },
    remove(which) {
      shown[which].box.replaceChildren();
    },
  };
  window.expire = () => {
    for (const { button, given } of shown) {
      button.textContent = "I am human";
      given["expired-callback"]();
    }
  };
})();
"""


class FakeHuman:
    """`asked`: the forms it was asked about; `away`: what it answers with when it is not 0."""

    def __init__(self, name: str = "turnstile") -> None:
        self.asked: list[dict[str, str]] = []
        self.away = 0
        self.scripts = 0
        self._name = name
        self._good: set[str] = set()
        self._numbers = itertools.count(1)
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listening.getsockname()[1]}"
        app = Starlette(
            routes=[
                Route("/api.js", self._script),
                Route("/frame", self._frame),
                Route("/answer", self._answer),
                Route("/siteverify", self._siteverify, methods=["POST"]),
            ]
        )
        self._server = uvicorn.Server(
            uvicorn.Config(app, log_level="error", lifespan="off", timeout_graceful_shutdown=2)
        )
        self._thread = threading.Thread(target=self._server.run, args=([self._listening],), daemon=True)

    async def _script(self, request: Request) -> Response:
        self.scripts += 1
        return Response(SCRIPT.replace("NAME", self._name), self.away or 200, media_type="text/javascript")

    async def _frame(self, request: Request) -> Response:
        return HTMLResponse("<!doctype html><html lang=en><title>Check</title><main><h1>Check</h1></main>")

    async def _answer(self, request: Request) -> Response:
        answer = f"answer-{next(self._numbers)}"
        self._good.add(answer)
        return JSONResponse({"answer": answer}, headers={"Access-Control-Allow-Origin": "*"})

    async def _siteverify(self, request: Request) -> Response:
        form = dict(parse_qsl((await request.body()).decode()))
        self.asked.append(form)
        good = form.get("secret") == SECRET and form.get("response") in self._good
        with suppress(KeyError):
            self._good.remove(form["response"])  # once
        return JSONResponse({"success": good})

    def spend(self) -> None:
        """What was given so far is good no more."""
        self._good.clear()

    def __enter__(self) -> FakeHuman:
        self._thread.start()
        deadline = time.monotonic() + 60
        while not self._server.started:
            assert time.monotonic() < deadline, "the provider did not start"
            time.sleep(0.01)
        return self

    def __exit__(self, *_: object) -> None:
        self._server.should_exit = True
        self._thread.join(60)
        self._listening.close()
