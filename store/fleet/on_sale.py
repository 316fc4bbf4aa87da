"""Which events have to be attended to: one condition, for the planner of the fleet and for an allocator that
runs without one.
"""

from __future__ import annotations

from typing import Final

ON_SALE: Final = """(
       event.state IN ('lobby', 'open', 'paused')
    OR event.state = 'draft'
       AND least(event.lobby_opens_at, event.opens_at) <= clock_timestamp() + interval '1 minute'
    OR event.state = 'closed'
       AND (EXISTS (SELECT FROM hold WHERE event_id = event.id AND hold.state = 'active')
            OR EXISTS (SELECT FROM fact WHERE event_id = event.id)
            OR EXISTS (SELECT FROM room WHERE event_id = event.id AND ballot
                        AND lobby_ended_at IS NOT NULL AND ballot_ended_at IS NULL)))"""
"""The condition on a row of `event`. A draft counts from a minute before its lobby or its sale begins by
itself; a closed event as long as it has holds, facts, or a ballot that is not decided.
"""
