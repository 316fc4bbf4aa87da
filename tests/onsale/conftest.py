"""A copy of the front door with stand-ins for the gateway and the allocator, so that these tests are about
starting, watching and stopping processes and not about what the processes do."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from onsale.engines.data_dir import REPOSITORY

GATEWAY = """
import http.server, json, os, signal, sys
print("gateway", os.environ["ONSALE_PROCESS"], "on", os.environ["ONSALE_PORT"], flush=True)
for name in ("DATABASE_URL", "REDIS_URL", "ONSALE_TOKEN_SECRET", "ONSALE_OPERATOR_KEY", "ONSALE_HOST"):
    assert os.environ[name], name
if os.environ.get("STAND_IN_GATEWAY") == "fails":
    sys.exit("the gateway has a reason not to start")
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200 if self.path in ("/health/ready", "/environment") else 404)
        self.end_headers()
        if self.path == "/environment":
            self.wfile.write(json.dumps(dict(os.environ)).encode())
    def log_message(self, *args): pass
signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
address = (os.environ["ONSALE_HOST"], int(os.environ["ONSALE_PORT"]))
http.server.ThreadingHTTPServer(address, Handler).serve_forever()
"""

ALLOCATOR = """
import os, signal, sys
signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
print("allocator", os.environ["ONSALE_PROCESS"], flush=True)
while True:
    signal.pause()
"""

CHORES = ALLOCATOR.replace('"allocator"', '"chores"')
AGENT = ALLOCATOR.replace(
    '"allocator", os.environ["ONSALE_PROCESS"]',
    '"agent", os.environ["ONSALE_HOST_NAME"], os.environ["ONSALE_SLOTS"]',
)


@pytest.fixture
def front_door(tmp_path: Path) -> Path:
    """A repository of the front door and the store, whose other processes only start, wait and stop."""
    root = tmp_path / "repository"
    root.mkdir()
    ignored = shutil.ignore_patterns("__pycache__")
    for room in ("onsale", "store"):
        shutil.copytree(REPOSITORY / room, root / room, ignore=ignored)
    for file in ("run", "requirements.lock", "requirements-test.lock"):
        shutil.copy2(REPOSITORY / file, root / file)
    for room, program in (("gateway", GATEWAY), ("allocator", ALLOCATOR)):
        (root / room).mkdir()
        (root / room / "__init__.py").touch()
        (root / room / "__main__.py").write_text(program)
    (root / "onsale" / "chores" / "__main__.py").write_text(CHORES)
    (root / "allocator" / "fleet").mkdir()
    (root / "allocator" / "fleet" / "__init__.py").touch()
    (root / "allocator" / "fleet" / "__main__.py").write_text(AGENT)
    return root
