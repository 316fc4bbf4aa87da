"""`python -m store.fleet.heard`: exit code 0 while this host is heard of, for its health check."""

from __future__ import annotations

import os
import socket
import sys
from typing import Final

import psycopg

from store.fleet.numbers import SILENT_SECONDS

HEARD: Final = """
SELECT EXISTS (SELECT FROM fleet_host
                WHERE name = %s AND seen_at > clock_timestamp() - make_interval(secs => %s))
"""


def main() -> int:
    name = os.environ.get("ONSALE_HOST_NAME") or socket.gethostname()
    try:
        with psycopg.connect(os.environ.get("DATABASE_URL", ""), connect_timeout=3) as conn:
            heard = conn.execute(HEARD, (name, SILENT_SECONDS)).fetchone() == (True,)
    except psycopg.Error as error:
        print(f"Postgres does not answer: {type(error).__name__}", file=sys.stderr)
        return 1
    print(f"{name} is heard of" if heard else f"{name} is not heard of", file=sys.stderr)
    return 0 if heard else 1


if __name__ == "__main__":
    sys.exit(main())
