"""What is asked about all events that share at once, about once a second."""

from __future__ import annotations

from typing import Final

WITH_FACTS: Final = """
-- Facts are few: whoever commits one wakes the event's owner, who consumes it.
SELECT DISTINCT event_id FROM fact WHERE event_id = ANY (%s)
"""

OPEN_IN: Final = """
-- How long until each begins by itself; whether it does is settled one by one (`events.open_when_due`).
SELECT id, (extract(epoch FROM opens_at - clock_timestamp()) * 1000000)::bigint
  FROM event WHERE id = ANY (%s) AND state IN ('draft', 'lobby') AND opens_at IS NOT NULL
"""

WITH_ROOMS: Final = """
SELECT event_id FROM room WHERE event_id = ANY (%s)
"""
