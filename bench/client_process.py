"""`python -m bench.client_process`: a fleet of clients in a process of its own.

The first line on standard input is `Orders`, each line after it (`Go`) is a round; progress comes as lines on
standard output, results in a file. It ends when its input ends.
"""

from __future__ import annotations

import asyncio
import gc
import resource
import sys
from pathlib import Path

from bench.clients import Fleet
from bench.orders import Orders, Progress, decode_go, decode_orders, encode_progress, encode_round

TOLD_EVERY = 500


def say(phase: str, done: int = 0, total: int = 0, message: str = "") -> None:
    """One line for whoever started this process."""
    sys.stdout.buffer.write(encode_progress(Progress(phase, done, total, message)) + b"\n")
    sys.stdout.buffer.flush()


async def work(orders: Orders) -> None:
    """Connect, then a round for each line that comes in."""

    def on_connected(count: int) -> None:
        if count % TOLD_EVERY == 0:
            say("connecting", count, len(orders.buyers))

    fleet = Fleet(orders, on_connected)
    await fleet.connect()
    gc.freeze()
    say("ready", len(fleet.clients), len(fleet.clients))
    while line := await asyncio.to_thread(sys.stdin.buffer.readline):
        say("running", 0, len(fleet.clients))
        done = await fleet.run_round(decode_go(line))
        await asyncio.to_thread(Path(orders.result_path).write_bytes, encode_round(done))
        say("done", done.answered, done.sent)
    await fleet.close()


def main() -> None:
    """See the top of this module."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    orders = decode_orders(sys.stdin.buffer.readline())
    try:
        asyncio.run(work(orders))
    except Exception as error:  # becomes a line for whoever started this process
        say("failed", message=f"{type(error).__name__}: {error}")
        sys.exit(1)


if __name__ == "__main__":
    main()
