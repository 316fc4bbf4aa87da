"""One child process: tied to this process's life, in a session of its own, with a bounded log.

A Ctrl-C at the terminal reaches only the parent (the child has its own session), which then stops its
children in the order it wants. The kernel's tie is to the *thread* that started the child, so children
asked for by another thread than the main one are started by one thread that lives as long as the process.
"""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import subprocess
import threading
from collections import deque
from collections.abc import Callable, Mapping
from pathlib import Path

from onsale.engines.identity import Identity, launch_arguments

LOG_BYTES_MAX = 8 * 1024 * 1024
TAIL_LINES_MAX = 60
LINE_BYTES_MAX = 64 * 1024


class Child:
    """A running (or ended) process with its log. Make one with `spawn`."""

    def __init__(self, name: str, popen: subprocess.Popen[bytes], log_path: Path) -> None:
        self.name = name
        self.log_path = log_path
        self._popen = popen
        self._tail: deque[bytes] = deque(maxlen=TAIL_LINES_MAX)
        self._pump = threading.Thread(target=self._pump_log, name=f"log of {name}", daemon=True)
        self._pump.start()

    @property
    def pid(self) -> int:
        return self._popen.pid

    @property
    def alive(self) -> bool:
        return self._popen.poll() is None

    @property
    def exit_code(self) -> int | None:
        return self._popen.poll()

    def wait(self, timeout_seconds: float | None = None) -> int | None:
        """Waits until the process ends; None if it is still running when the time is up."""
        try:
            return self._popen.wait(timeout_seconds)
        except subprocess.TimeoutExpired:
            return None

    def send(self, number: signal.Signals) -> None:
        """Sends a signal; nothing happens if the process has ended."""
        with contextlib.suppress(ProcessLookupError):
            self._popen.send_signal(number)

    def stop(self, number: signal.Signals, patience_seconds: float) -> bool:
        """Asks to end, then kills when patience is over. Whether the asking was enough."""
        self.send(number)
        gently = self.wait(patience_seconds) is not None
        if not gently:
            self.send(signal.SIGKILL)
            self.wait()
        self._pump.join(timeout=1)
        return gently

    def last_words(self, lines_max: int = 20) -> str:
        """The last lines the process wrote; complete once it has ended."""
        if not self.alive:
            self._pump.join(timeout=1)
        lines = list(self._tail)[-lines_max:]
        return b"\n".join(lines).decode(errors="replace")

    def _pump_log(self) -> None:
        stream = self._popen.stdout
        assert stream is not None, "a child is always started with a pipe for its output"
        with stream:
            log = _BoundedLog(self.log_path)
            with contextlib.closing(log):
                for line in iter(lambda: stream.readline(LINE_BYTES_MAX), b""):
                    self._tail.append(line.rstrip())
                    log.write(line)


class _BoundedLog:
    """Appends to a file; at LOG_BYTES_MAX the file becomes `.1`, replacing the one before."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = open(path, "ab", buffering=0)  # noqa: SIM115 - lives as long as the child
        self._size = self._file.tell()

    def write(self, line: bytes) -> None:
        """A log that cannot be written (a full disk) must never block the child: the line is dropped."""
        with contextlib.suppress(OSError):
            if self._size + len(line) > LOG_BYTES_MAX:
                self._file.close()
                self._path.replace(self._path.with_name(self._path.name + ".1"))
                self._file = open(self._path, "ab", buffering=0)  # noqa: SIM115 - as above
                self._size = 0
            self._file.write(line)
            self._size += len(line)

    def close(self) -> None:
        self._file.close()


def spawn(
    name: str,
    program: list[str | Path],
    *,
    log_path: Path,
    env: Mapping[str, str],
    identity: Identity = Identity.SELF,
    death_signal: signal.Signals = signal.SIGKILL,
    cwd: Path | None = None,
) -> Child:
    """Starts `program`; `death_signal` reaches it when this process dies, however it dies."""
    log_path.parent.mkdir(parents=True, exist_ok=True)
    arguments = launch_arguments(identity, death_signal, *program)

    def start() -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            arguments,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=dict(env),
            cwd=cwd,
            start_new_session=True,
        )

    popen = start() if threading.current_thread() is threading.main_thread() else _spawner().call(start)
    return Child(name, popen, log_path)


class _Spawner:
    """A thread that never ends and starts processes for threads that might."""

    def __init__(self) -> None:
        self._asked: queue.SimpleQueue[tuple[Callable[[], subprocess.Popen[bytes]], _Answer]] = (
            queue.SimpleQueue()
        )
        threading.Thread(target=self._serve, name="spawner", daemon=True).start()

    def call(self, start: Callable[[], subprocess.Popen[bytes]]) -> subprocess.Popen[bytes]:
        answer: _Answer = queue.SimpleQueue()
        self._asked.put((start, answer))
        result = answer.get()
        if isinstance(result, BaseException):
            raise result
        return result

    def _serve(self) -> None:
        while True:
            start, answer = self._asked.get()
            try:
                answer.put(start())
            except BaseException as error:
                answer.put(error)


_Answer = queue.SimpleQueue[subprocess.Popen[bytes] | BaseException]
_spawner_here: tuple[int, _Spawner] | None = None
_spawner_lock = threading.Lock()


def _spawner() -> _Spawner:
    """This process's spawner; a forked copy gets its own, because threads do not survive a fork."""
    global _spawner_here
    with _spawner_lock:
        if _spawner_here is None or _spawner_here[0] != os.getpid():
            _spawner_here = (os.getpid(), _Spawner())
        return _spawner_here[1]
