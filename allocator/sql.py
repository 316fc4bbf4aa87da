"""The batch transaction's statements. READ COMMITTED. COPY_LEDGER runs right after the fence.

Locks are taken in the order every writer keeps: the cursor row (only owners touch it), of a date of a tour
the batch's buyers by name, holds by id, the waiting list by its order, seats, area counters. Each WHERE
states what the decision assumed; a count below what was decided means somebody else changed it first, and
the whole batch is rolled back and decided again.

Array parameters are Postgres array literals, cheaper to make than adapted lists.
"""

from __future__ import annotations

from typing import Final

from store.lookups import DECISIONS
from store.lost_time import UNATTENDED

FENCE: Final = f"""
-- Fence, exactly-once and clock in one compare-and-set. A stale owner, or the same batch sent twice,
-- finds no row, nor does an owner that gave no sign of life for so long that holds get the time back first
-- (`store.lost_time`). Locks the cursor row until COMMIT, so a takeover waits for it or ends this backend.
UPDATE event_cursor
   SET batch_no = batch_no + 1, arrival = %s, batch_time = greatest(batch_time, clock_timestamp())
 WHERE event_id = %s AND epoch = %s AND owner = %s AND batch_no = %s
   AND NOT EXISTS (SELECT FROM lease WHERE lease.event_id = event_cursor.event_id AND {UNATTENDED})
RETURNING (extract(epoch FROM batch_time) * 1000000)::bigint
"""

LOCK_DUE: Final = """
-- Locks what ran out by this batch's time, before facts are taken: a payment or release of the same moment
-- has committed and its fact is seen, or it waits for this batch. Else a storm of them wins again and again.
-- Nothing where the fence found no row. The oldest, as many as one batch lets run out.
SELECT 1 FROM hold
 WHERE event_id = %(event)s AND hold_id = ANY (ARRAY(
   SELECT hold_id FROM hold
    WHERE event_id = %(event)s AND state = 'active' AND expires_at <= (
      SELECT batch_time FROM event_cursor
       WHERE event_id = %(event)s AND epoch = %(epoch)s AND owner = %(owner)s AND batch_no = %(batch)s)
    ORDER BY expires_at, hold_id LIMIT %(most)s))
 ORDER BY hold_id FOR UPDATE
"""

TAKE_FACTS: Final = """
-- Consumes what others changed and committed before now. What commits later is the next batch's; if
-- that matters to this one, a conditional write below comes up short.
DELETE FROM fact
 WHERE id IN (SELECT id FROM fact WHERE event_id = %s ORDER BY id LIMIT 10000)
RETURNING id, kind, hold_id, coalesce(body::text, 'null')
"""

ASKING: Final = """
WITH asking AS (
  SELECT unnest(%(buyers)s::text[]) AS buyer
   UNION SELECT buyer FROM waiting WHERE event_id = %(event)s AND state = 'waiting')
"""

LOCK_TOUR_BUYERS: Final = (
    ASKING
    + """
-- Only for a date of a tour: locks a row for each buyer who may get something in this batch, in the order
-- of their names, so that of the batches of all its dates one at a time decides about a buyer. A row that is
-- there is locked and stays as it is. Nobody who has such a lock waits for one of another event.
INSERT INTO tour_buyer (tour_id, buyer)
SELECT %(tour)s, buyer FROM asking ORDER BY buyer COLLATE "C"
ON CONFLICT (tour_id, buyer) DO UPDATE SET buyer = excluded.buyer WHERE false
"""
)

READ_ELSEWHERE: Final = (
    ASKING
    + """
-- After the locks, so it sees what those who had them before committed; until COMMIT it can only become less.
-- Who has nothing there is left out. A hold there that ran out counts until its own allocator lets it go.
SELECT asking.buyer, has.quantity
  FROM asking CROSS JOIN LATERAL (
    SELECT sum(hold.quantity)::int AS quantity FROM hold
     WHERE hold.tour_id = %(tour)s AND hold.buyer = asking.buyer AND hold.event_id <> %(event)s
       AND hold.state IN ('active', 'paid')) AS has
 WHERE has.quantity > 0
 ORDER BY asking.buyer COLLATE "C"
"""
)

EXPIRE_HOLDS: Final = """
-- Safe against a payment or release of the same moment: they lock the hold row and leave 'active'.
WITH due AS (
  SELECT hold_id FROM hold
   WHERE event_id = %(event)s AND hold_id = ANY (%(holds)s::bigint[])
     AND state = 'active' AND expires_at <= to_timestamp(%(now)s / 1000000.0)
   ORDER BY hold_id FOR UPDATE)
UPDATE hold SET state = 'expired'
  FROM due WHERE hold.event_id = %(event)s AND hold.hold_id = due.hold_id
"""

MOVE_HOLDS: Final = """
-- Holds that end because their holders get others instead. Safe against a payment, release, extension or
-- expiry of the same moment: they lock the hold row and leave 'active' or change its end.
WITH leaving AS (
  SELECT hold.hold_id FROM hold
    JOIN unnest(%(holds)s::bigint[], %(buyers)s::text[], %(expiries)s::bigint[])
         AS was (hold_id, buyer, expires_at) ON hold.hold_id = was.hold_id
   WHERE hold.event_id = %(event)s AND hold.buyer = was.buyer AND hold.state = 'active'
     AND hold.expires_at = to_timestamp(was.expires_at / 1000000.0)
   ORDER BY hold.hold_id FOR UPDATE OF hold)
UPDATE hold SET state = 'released'
  FROM leaving WHERE hold.event_id = %(event)s AND hold.hold_id = leaving.hold_id
"""

CARRY_EXTENSIONS: Final = """
-- A hold that was moved has been extended as often as the one before: else moving would give more time.
UPDATE hold SET extensions = old.extensions
  FROM unnest(%(holds)s::bigint[], %(news)s::bigint[]) AS moved (old_id, new_id)
  JOIN hold AS old ON old.event_id = %(event)s AND old.hold_id = moved.old_id
 WHERE hold.event_id = %(event)s AND hold.hold_id = moved.new_id
"""

PUT_ON_LIST: Final = """
INSERT INTO waiting (event_id, wait_id, buyer, request_id)
SELECT %(event)s, wait_id, buyer, request_id
  FROM unnest(%(waits)s::bigint[], %(buyers)s::text[], %(requests)s::text[])
       AS new (wait_id, buyer, request_id)
"""

TAKE_OFF_LIST: Final = """
-- Only who still waits: safe against a buyer who leaves in the same moment, who locks the row too. Locked
-- after holds and before seats, in the list's order.
WITH served AS (
  SELECT waiting.wait_id, offer.hold_id FROM waiting
    JOIN unnest(%(waits)s::bigint[], %(holds)s::bigint[]) AS offer (wait_id, hold_id) USING (wait_id)
   WHERE waiting.event_id = %(event)s AND waiting.state = 'waiting'
   ORDER BY waiting.wait_id FOR UPDATE OF waiting)
UPDATE waiting SET state = 'offered', hold_id = served.hold_id
  FROM served WHERE waiting.event_id = %(event)s AND waiting.wait_id = served.wait_id
"""

FREE_SEATS: Final = """
-- Only seats that still name the hold that ended. The history row is written by the same statement.
WITH freed AS (
  UPDATE seat SET state = 'available', hold_id = NULL
    FROM unnest(%(seats)s::int[], %(holds)s::bigint[]) AS was (seat_no, hold_id)
   WHERE seat.event_id = %(event)s AND seat.seat_no = was.seat_no
     AND seat.state = 'held' AND seat.hold_id = was.hold_id
  RETURNING seat.seat_no, was.hold_id)
INSERT INTO seat_history (event_id, seat_no, state, hold_id, by)
SELECT %(event)s, seat_no, 'available', hold_id,
       CASE WHEN hold_id = ANY (%(moved)s::bigint[]) THEN 'buyer' ELSE 'expiry' END
  FROM freed
"""

FREE_HOLD_SEATS: Final = """
DELETE FROM hold_seat
 USING unnest(%(seats)s::int[], %(holds)s::bigint[]) AS was (seat_no, hold_id)
 WHERE hold_seat.event_id = %(event)s AND hold_seat.seat_no = was.seat_no AND hold_seat.hold_id = was.hold_id
"""

FREE_HOLD_AREAS: Final = """
-- Only places as they were decided: of a hold that gave some back meanwhile, other counters would move.
DELETE FROM hold_area
 USING unnest(%(holds)s::bigint[], %(areas)s::int[], %(quantities)s::int[])
       AS was (hold_id, area_no, quantity)
 WHERE hold_area.event_id = %(event)s AND hold_area.hold_id = was.hold_id
   AND hold_area.area_no = was.area_no AND hold_area.quantity = was.quantity
"""

MOVE_AREAS: Final = """
-- Guarded counters: the CHECK constraints are law 1 for standing places; this keeps them from firing.
UPDATE area SET held = held + moved.quantity
  FROM unnest(%(areas)s::int[], %(quantities)s::int[]) AS moved (area_no, quantity)
 WHERE area.event_id = %(event)s AND area.area_no = moved.area_no
   AND held + moved.quantity >= 0 AND held + moved.quantity + sold + blocked <= capacity
"""

CLAIM_HOLDS: Final = """
INSERT INTO hold (event_id, hold_id, buyer, request_id, quantity, expires_at, tour_id)
SELECT %(event)s, hold_id, buyer, request_id, quantity, to_timestamp(expires_at / 1000000.0), %(tour)s::int
  FROM unnest(%(holds)s::bigint[], %(buyers)s::text[], %(requests)s::text[], %(quantities)s::int[],
              %(expiries)s::bigint[]) AS new (hold_id, buyer, request_id, quantity, expires_at)
"""

CLAIM_SEATS: Final = """
-- Only seats that are available now; the row lock decides against a block of the same moment.
WITH claimed AS (
  UPDATE seat SET state = 'held', hold_id = wanted.hold_id
    FROM unnest(%(seats)s::int[], %(holds)s::bigint[]) AS wanted (seat_no, hold_id)
   WHERE seat.event_id = %(event)s AND seat.seat_no = wanted.seat_no AND seat.state = 'available'
  RETURNING seat.seat_no, seat.hold_id)
INSERT INTO seat_history (event_id, seat_no, state, hold_id, by)
SELECT %(event)s, seat_no, 'held', hold_id, 'allocator' FROM claimed
"""

CLAIM_HOLD_SEATS: Final = """
-- Law 1: the primary key refuses a seat that is in another active hold or sale. Firing is an alert.
INSERT INTO hold_seat (event_id, seat_no, hold_id)
SELECT %(event)s, seat_no, hold_id
  FROM unnest(%(seats)s::int[], %(holds)s::bigint[]) AS new (seat_no, hold_id)
"""

CLAIM_HOLD_AREAS: Final = """
INSERT INTO hold_area (event_id, hold_id, area_no, quantity)
SELECT %(event)s, hold_id, area_no, quantity
  FROM unnest(%(holds)s::bigint[], %(areas)s::int[], %(quantities)s::int[])
       AS new (hold_id, area_no, quantity)
"""

PLAN_COUNTS: Final = """
-- Rare: seats were moved to other categories. What has a higher number was decided by that plan.
UPDATE event_plan SET ledger_at = %s WHERE event_id = %s AND version = %s AND ledger_at IS NULL
"""

WRITE_BATCH: Final = """
INSERT INTO ledger_batch (event_id, batch_no, epoch, batch_time, arrival, code_version, row_digests, hash)
VALUES (%s, %s, %s, to_timestamp(%s / 1000000.0), %s, %s, %s, %s)
"""

COPY_LEDGER: Final = """
COPY ledger (event_id, batch_no, position, kind, arrival, buyer, request_id, input, outcome, result)
FROM STDIN
"""

READ_CURSOR: Final = """
SELECT epoch, owner, batch_no FROM event_cursor WHERE event_id = %s
"""

MOVE_LEASE: Final = """
-- The owner writes through another backend now; a takeover must end that one.
UPDATE lease
   SET backend_pid = pg_backend_pid(),
       backend_start = (SELECT backend_start FROM pg_stat_activity WHERE pid = pg_backend_pid())
 WHERE event_id = %s AND owner = %s
"""

LAST_HASH: Final = """
SELECT hash FROM ledger_batch WHERE event_id = %s AND batch_no = %s
"""

KNOWN_KEYS: Final = DECISIONS
"""Which of these keys are decided, and how: what a gateway asks of the ledger too."""

CONFLICTS: Final = """
-- Reads the whole ledger: asked only for conflicts that a gateway appends a second time, after it or the
-- stream lost something. An index for it would cost every batch.
SELECT arrival FROM ledger
 WHERE event_id = %s AND kind = 'request' AND outcome = 'conflict' AND arrival = ANY (%s)
"""

HAS_FACTS: Final = """
SELECT 1 FROM fact WHERE event_id = %s LIMIT 1
"""
