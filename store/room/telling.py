""" "It is your turn" by mail: to those who were admitted and left an address when they joined.

The mails are written by the transaction that admits, so nobody is admitted without a mail and nobody gets one
who was not; they are sent by the chore that sends all mails. Who is called again is written to again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final
from uuid import UUID

import psycopg

from store.mail import Alone

WRITE: Final = f"""
-- One statement however many were admitted; of places without an address it finds nothing to do.
INSERT INTO mail (event_id, address, kind, body)
SELECT event_id, email, '{Alone.PLACE_ADMITTED.value}', json_build_object('place', id, 'begin_by', begin_by)
  FROM place
 WHERE id = ANY (%(places)s::uuid[]) AND email IS NOT NULL
"""


def write_mails(conn: psycopg.Connection[Any], place_ids: Sequence[UUID]) -> int:
    """In the transaction that admitted these places; how many mails there will be."""
    return conn.execute(WRITE, {"places": list(place_ids)}).rowcount
