"""An asyncio loop on virtual time: what is ready runs at once, what waits is in the world's queue."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Any

from tests.simulation.world import SECOND, Host, World


class VirtualLoop(asyncio.AbstractEventLoop):
    """As much of a loop as tasks, futures, events and timers need. Ends with its host."""

    def __init__(self, world: World, host: Host) -> None:
        self._world = world
        self._host = host
        self._ready: deque[asyncio.Handle] = deque()
        self._scheduled = False

    def time(self) -> float:
        return self._world.now_us / SECOND

    def call_soon(self, callback: Any, *args: Any, context: Any = None) -> asyncio.Handle:  # type: ignore[override]
        handle = asyncio.Handle(callback, args, self, context)
        self._ready.append(handle)
        if not self._scheduled and not self._host.dead:
            self._scheduled = True
            self._world.at(self._world.now_us + 20, self._run)
        return handle

    def call_later(  # type: ignore[override]
        self, delay: float, callback: Any, *args: Any, context: Any = None
    ) -> asyncio.TimerHandle:
        return self.call_at(self.time() + delay, callback, *args, context=context)

    def call_at(  # type: ignore[override]
        self, when: float, callback: Any, *args: Any, context: Any = None
    ) -> asyncio.TimerHandle:
        handle = asyncio.TimerHandle(when, callback, args, self, context)

        def due() -> None:
            if not handle.cancelled():
                self.call_soon(callback, *args, context=context)

        self._world.at(int(when * SECOND), due)
        return handle

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        pass

    def create_future(self) -> asyncio.Future[Any]:
        return asyncio.Future(loop=self)

    def create_task(self, coro: Any, *, name: Any = None, context: Any = None, **_: Any) -> asyncio.Task[Any]:
        return asyncio.Task(coro, loop=self, name="task", context=context)

    def get_debug(self) -> bool:
        return False

    def is_running(self) -> bool:
        return True

    def is_closed(self) -> bool:
        return False

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        if not self._host.dead:
            self._world.broken.append(f"{self._host.name}: {context}")

    def ask(self, who: str, what: str, effect: Callable[[], Any]) -> asyncio.Future[Any]:
        """A call to an engine: arrives a little later, and its answer a little later again.

        What is on its way when this host dies still arrives.
        """
        world, answer = self._world, self.create_future()

        def arrive() -> None:
            world.note(who, what)
            try:
                result, error = effect(), None
            except Exception as raised:
                result, error = None, raised
            self.reply(answer, result, error)

        world.at(world.now_us + world.latency_us(), arrive)
        return answer

    def reply(self, answer: asyncio.Future[Any], result: Any, error: Exception | None) -> None:
        """What came of a call is on its way back."""
        world = self._world

        def come_back() -> None:
            if answer.done() or self._host.dead:
                return
            if self._host.stopped:
                world.at(self._host.stopped_until_us, come_back)
            elif error is not None:
                answer.set_exception(error)
            else:
                answer.set_result(result)

        world.at(world.now_us + world.latency_us(), come_back)

    def _run(self) -> None:
        if self._host.dead:
            return
        if self._host.stopped:
            self._world.at(self._host.stopped_until_us, self._run)
            return
        self._scheduled = False
        asyncio._set_running_loop(self)
        try:
            ready = self._ready
            while ready:
                handle = ready.popleft()
                if not handle._cancelled:
                    handle._run()
        finally:
            asyncio._set_running_loop(None)
