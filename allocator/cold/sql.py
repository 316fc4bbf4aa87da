"""What is asked about all events that share at once, about once a second."""

from __future__ import annotations

from typing import Final

WITH_FACTS: Final = """
-- Facts are few: whoever commits one wakes the event's owner, who consumes it.
SELECT DISTINCT event_id FROM fact WHERE event_id = ANY (%s)
"""

OPEN_IN: Final = """
-- How long until each begins its lobby or sale by itself, whichever is next; whether it does is settled one
-- by one (`opening.open_when_due`). A lobby's own time is over.
SELECT id, (extract(epoch FROM next - clock_timestamp()) * 1000000)::bigint
  FROM event, LATERAL (
    SELECT CASE state WHEN 'draft' THEN least(lobby_opens_at, opens_at) ELSE opens_at END AS next) AS times
 WHERE id = ANY (%s) AND state IN ('draft', 'lobby') AND next IS NOT NULL
"""

WITH_ROOMS: Final = """
SELECT event_id FROM room WHERE event_id = ANY (%s)
"""
