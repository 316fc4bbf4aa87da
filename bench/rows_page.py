"""`map_frame_p95`: the time between two frames while a map of 20,000 seats is moved and zoomed.

A headless Chromium without a graphics card opens the real page of a real event. The mouse drags the map
about and its wheel zooms in and out, 125 events a second as mice send them, all through the browser's own
input queue; the page's `requestAnimationFrame` tells when frames begin. At 60 frames a second there are
16.7 ms between two, so what is left out shows as a multiple of that.
"""

from __future__ import annotations

import math
import time

from bench.browser import Tab, browser_tab
from bench.effort import Effort
from bench.generator import mint
from bench.orders import percentile
from bench.report import Report, Say, at_most
from bench.target import make_event, throwaway_target, wait_known
from store.errors import OnsaleError

SEATS = 20_000
ROUNDS = 3
ROUND_SECONDS = 4.0
EVENT_SECONDS = 1 / 125
WIDTH, HEIGHT = 1280, 800
PIXEL_RATIO = 2.0
FRAME_MS_MAX = 33.0
READY = "document.querySelector('[data-topic=choosing] canvas')"
START = """(() => {
  const frames = (window.measured = []);
  const canvas = CanvasRenderingContext2D.prototype;
  window.drawn = 0;
  window.plainDraw ??= canvas.drawImage;
  canvas.drawImage = function (...given) {
    window.drawn += 1;
    return window.plainDraw.apply(this, given);
  };
  let before = 0;
  const frame = (now) => {
    if (before) frames.push(now - before);
    before = now;
    window.measuring = requestAnimationFrame(frame);
  };
  window.measuring = requestAnimationFrame(frame);
})()"""
STOP = "(cancelAnimationFrame(window.measuring), window.measured)"
MIDDLE = """(() => {
  const box = document.querySelector("canvas").getBoundingClientRect();
  return [box.x + box.width / 2, box.y + box.height / 2];
})()"""


def measure_page(report: Report, say: Say, effort: Effort) -> None:
    """`map_frame_p95`; its frames, longest frame and the number of the page's elements are in the details."""
    rounds: list[list[float]] = []
    with throwaway_target() as (target, _):
        event = make_event(target.database_url, SEATS)
        wait_known(target, event)
        ((_, token),) = mint(target.token_secret, 1)
        with browser_tab(WIDTH, HEIGHT, PIXEL_RATIO) as tab:
            tab.open(f"{target.base_url}/e/{event.slug}#token={token}", READY)
            middle = tab.evaluate(MIDDLE)
            for number in range(effort.rounds(ROUNDS) + 1):
                say(f"a map of {SEATS:,} seats: round {number} of {effort.rounds(ROUNDS)}")
                frames = _move_and_zoom(tab, middle, effort.seconds(ROUND_SECONDS))
                if number:
                    rounds.append(frames)
            elements = tab.evaluate("document.querySelectorAll('*').length")
    report.rows.append(at_most("map_frame_p95", [_p95(frames) for frames in rounds], "ms", FRAME_MS_MAX))
    report.details["map_frame_p95"] = {
        "frames": [len(frames) for frames in rounds],
        "longest_ms": [round(max(frames), 1) for frames in rounds],
        "elements": elements,
    }


def _move_and_zoom(tab: Tab, middle: list[float], seconds: float) -> list[float]:
    """Milliseconds between frames over a round: dragging in circles, wheel in, dragging, wheel out."""
    x, y = middle
    tab.evaluate(START)
    for wheel in (-30, 0, 30, 0):
        begun = time.perf_counter()
        if not wheel:
            tab.mouse("mousePressed", x, y, button="left", clickCount=1)
        for step in range(int(seconds / 4 / EVENT_SECONDS)):
            if wheel:
                tab.mouse("mouseWheel", x, y, deltaX=0, deltaY=wheel)
            else:
                at = step * math.pi / 60
                tab.mouse(
                    "mouseMoved", x + 200 * math.sin(at), y + 150 * math.sin(2 * at), button="left", buttons=1
                )
            time.sleep(max(0.0, begun + (step + 1) * EVENT_SECONDS - time.perf_counter()))
        if not wheel:
            tab.mouse("mouseReleased", x, y, button="left", clickCount=1)
    frames: list[float] = tab.evaluate(STOP)
    drawn = tab.evaluate("window.drawn")
    if drawn < len(frames) / 2:
        raise OnsaleError(f"The map was drawn {drawn} times in {len(frames)} frames: it did not move.")
    return frames


def _p95(frames: list[float]) -> float:
    return percentile(sorted(round(each * 1000) for each in frames), 0.95) / 1000
