"""What a gateway loads when it starts: the libraries that it does not would cost it 0.7 s and 34 MB."""

from __future__ import annotations

import subprocess
import sys

NOT_USED = ("stripe", "requests", "httpx", "aiohttp", "sqlalchemy", "alembic", "rich", "typer")


def test_a_gateway_without_a_provider_loads_no_providers_library_and_no_schema():
    said = f"import sys, gateway.__main__; print([name for name in {NOT_USED} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", said], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
