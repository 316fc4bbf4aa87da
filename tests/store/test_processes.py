"""How a process is named: alike on one machine, and never like one elsewhere."""

from __future__ import annotations

import os
import socket
import subprocess
import sys

from store import processes

ASK = "from store.processes import machine; print(machine())"


def asked_of_another() -> str:
    """What another process calls this machine."""
    return subprocess.run(
        [sys.executable, "-c", ASK], capture_output=True, text=True, check=True
    ).stdout.strip()


def test_processes_of_one_machine_call_it_the_same():
    assert asked_of_another() == processes.machine()
    assert processes.machine().startswith(f"{socket.gethostname()}/")
    assert processes.process_name() == f"{processes.machine()}:{os.getpid()}"
    assert processes.process_name(7) == f"{processes.machine()}:7"


def test_another_kernel_or_none_that_tells_is_another_machine(monkeypatch, tmp_path):
    ours, elsewhere = processes.machine(), tmp_path / "boot_id"
    called = {ours}
    for told in ("another kernel", "a third one", None):
        if told is None:
            elsewhere.unlink()
        else:
            elsewhere.write_text(told)
        monkeypatch.setattr(processes, "BOOT", elsewhere)
        called.add(processes.machine.__wrapped__())
    called.add(processes.machine.__wrapped__())
    assert len(called) == 5
