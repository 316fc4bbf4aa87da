"""What an erasure finds and changes, in SQL. All of it runs in one transaction.

Locks in the order of all writers: the event's row, its cursor, the tour's buyers, holds by id, the waiting
list, the room's places. The events are closed and at rest, so nobody waits for long.
"""

from __future__ import annotations

from typing import Final

from store.erasure.words import NAMES

_OF_BUYER: Final = """
   EXISTS (SELECT FROM ledger WHERE ledger.event_id + 0 = event.id AND ledger.buyer = %(buyer)s
              AND ledger.kind = 'request' AND ledger.outcome <> 'conflict')
   OR EXISTS (SELECT FROM hold WHERE hold.event_id = event.id AND hold.buyer = %(buyer)s
              AND hold.state IN ('paid', 'refunded'))
   OR EXISTS (SELECT FROM waiting WHERE waiting.event_id = event.id AND waiting.buyer = %(buyer)s)
   OR EXISTS (SELECT FROM ticket WHERE ticket.event_id = event.id AND ticket.holder = %(buyer)s)
   OR event.id = ANY (SELECT event_id FROM place WHERE buyer = %(buyer)s)
"""

FIND: Final = f"""
-- Every event in which something of the buyer's is: by index in each, but for places, which are read once.
SELECT event.id, event.slug, event.state, event.tour_id FROM event
 WHERE ({_OF_BUYER}) ORDER BY event.id
"""

FIND_BY_MAIL: Final = """
-- Whoever gave that address, whatever letters it was written in.
SELECT DISTINCT buyer FROM (
  SELECT buyer FROM payment WHERE lower(email) = ANY (%(mails)s::text[]) AND email IS NOT NULL
   UNION ALL
  SELECT buyer FROM place WHERE lower(email) = ANY (%(mails)s::text[]) AND email IS NOT NULL) AS found
 ORDER BY buyer LIMIT %(limit)s
"""

LOCK_EVENTS: Final = "SELECT id FROM event WHERE id = ANY (%(events)s::int[]) ORDER BY id FOR UPDATE"
LOCK_CURSORS: Final = """
SELECT event_id, arrival FROM event_cursor WHERE event_id = ANY (%(events)s::int[])
 ORDER BY event_id FOR UPDATE
"""

NOT_AT_REST: Final = """
-- What somebody is still to do for the buyer, under the buyer's name.
SELECT event.slug, CASE
         WHEN EXISTS (SELECT FROM fact WHERE fact.event_id = event.id) THEN 'changes wait for its allocator'
         WHEN EXISTS (SELECT FROM called_off WHERE called_off.event_id = event.id AND done_at IS NULL)
           THEN 'its orders are being taken back or moved'
         WHEN EXISTS (SELECT FROM hold WHERE hold.event_id = event.id AND hold.state = 'active'
                         AND hold.buyer = %(buyer)s) THEN 'a hold of the buyer runs'
         WHEN EXISTS (SELECT FROM payment WHERE payment.event_id = event.id AND payment.buyer = %(buyer)s
                         AND (refund_due_minor > 0 OR state IN ('late', 'refund_due')
                              OR state IN ('created', 'failed', 'canceled')
                                 AND NOT intent_ended))
           THEN 'a payment of the buyer is not at its end'
       END AS why
  FROM event WHERE event.id = ANY (%(events)s::int[]) ORDER BY event.id
"""

SIBLINGS_RUN: Final = """
-- Limits count across the dates of a tour: while one sells, who the buyer was must be known.
SELECT other.slug FROM event JOIN event AS other ON other.tour_id = event.tour_id
 WHERE event.id = ANY (%(events)s::int[]) AND other.state <> 'closed' ORDER BY other.id LIMIT 1
"""

BEGIN: Final = "SELECT set_config('onsale.erasing', pg_current_xact_id()::text, true)"

LEDGER: Final = """
-- Reads the event's ledger once: conflicts and offers are in no index of buyers, and facts name them inside.
SELECT batch_no, position, kind, coalesce(arrival, ''), coalesce(buyer, ''), coalesce(request_id, ''),
       input::text, outcome, result::text
  FROM ledger
 WHERE event_id = %(event)s
   AND (buyer = %(buyer)s OR kind = 'fact' AND outcome IN ('sold', 'returned', 'elsewhere'))
"""

KEEP_DIGESTS: Final = """
INSERT INTO ledger_erasure (event_id, batch_no, position, digest, audit_id)
SELECT %(event)s, batch_no, position, digest, %(audit)s
  FROM unnest(%(batches)s::bigint[], %(positions)s::int[], %(digests)s::bytea[])
       AS changed (batch_no, position, digest)
"""

CHANGE_LEDGER: Final = """
UPDATE ledger SET buyer = nullif(changed.buyer, ''), input = changed.input::json
  FROM unnest(%(batches)s::bigint[], %(positions)s::int[], %(buyers)s::text[], %(inputs)s::text[])
       AS changed (batch_no, position, buyer, input)
 WHERE ledger.event_id = %(event)s AND ledger.batch_no = changed.batch_no
   AND ledger.position = changed.position
"""

ADDRESSES: Final = """
SELECT email FROM payment WHERE event_id = %(event)s AND buyer = %(buyer)s AND email IS NOT NULL
 UNION
SELECT email FROM place WHERE event_id = %(event)s AND buyer = %(buyer)s AND email IS NOT NULL
"""

CHANGES: Final = {
    "tour_buyer": """
DELETE FROM tour_buyer USING event
 WHERE event.id = %(event)s AND tour_buyer.tour_id = event.tour_id AND tour_buyer.buyer = %(buyer)s
""",
    "hold": """
WITH mine AS (
  SELECT hold_id FROM hold WHERE event_id = %(event)s AND buyer = %(buyer)s ORDER BY hold_id FOR UPDATE)
UPDATE hold SET buyer = %(pseudonym)s FROM mine
 WHERE hold.event_id = %(event)s AND hold.hold_id = mine.hold_id
""",
    "waiting": "UPDATE waiting SET buyer = %(pseudonym)s WHERE event_id = %(event)s AND buyer = %(buyer)s",
    "place": """
UPDATE place SET buyer = %(pseudonym)s, email = NULL, code_sha256 = NULL
 WHERE event_id = %(event)s AND buyer = %(buyer)s
""",
    "ballot_wish": """
UPDATE ballot_wish SET buyer = %(pseudonym)s WHERE event_id = %(event)s AND buyer = %(buyer)s
""",
    "payment": """
UPDATE payment SET buyer = %(pseudonym)s, email = NULL, checkout = NULL
 WHERE event_id = %(event)s AND buyer = %(buyer)s
""",
    "ticket": "UPDATE ticket SET holder = %(pseudonym)s WHERE event_id = %(event)s AND holder = %(buyer)s",
    "mail": """
-- By then places are the pseudonym's. They may have had another address when somebody wrote to it.
DELETE FROM mail WHERE event_id = %(event)s
   AND (address = ANY (%(addresses)s::text[]) OR body ->> 'buyer' = %(buyer)s
        OR body ->> 'place' IN (
             SELECT id::text FROM place WHERE event_id = %(event)s AND buyer = %(pseudonym)s))
""",
}
"""By table, in the order in which they are locked."""

FIND_TOLD: Final = """
SELECT number, body::text FROM outbox
 WHERE event_id = %(event)s AND kind NOT LIKE 'event.%%' AND body::text LIKE ANY (%(written)s::text[])
"""
PUT_TOLD: Final = """
UPDATE outbox SET body = changed.text::json
  FROM unnest(%(ids)s::bigint[], %(texts)s::text[]) AS changed (id, text)
 WHERE event_id = %(event)s AND number = changed.id
"""
FIND_DELIVERIES: Final = """
-- Of several subscribers who are told the same each has the same text.
SELECT outbox_id, min(payload) FROM delivery
 WHERE event_id = %(event)s AND kind NOT LIKE 'event.%%' AND payload LIKE ANY (%(written)s::text[])
 GROUP BY outbox_id
"""
PUT_DELIVERIES: Final = """
UPDATE delivery SET payload = changed.text
  FROM unnest(%(ids)s::bigint[], %(texts)s::text[]) AS changed (id, text)
 WHERE event_id = %(event)s AND outbox_id = changed.id
"""
FIND_AUDIT: Final = """
SELECT id, what::text FROM audit WHERE event_id = %(event)s AND what::text LIKE ANY (%(written)s::text[])
"""
PUT_AUDIT: Final = """
UPDATE audit SET what = changed.text::json
  FROM unnest(%(ids)s::bigint[], %(texts)s::text[]) AS changed (id, text) WHERE audit.id = changed.id
"""
TEXTS: Final = {
    "outbox": (FIND_TOLD, PUT_TOLD, NAMES),
    "delivery": (FIND_DELIVERIES, PUT_DELIVERIES, NAMES),
    "audit": (FIND_AUDIT, PUT_AUDIT, ("buyer",)),
}
"""By table: rows with a text in which the id may stand, putting other texts in their place, and the fields in
which it stands. In `audit` from and to are states and hosts, whatever a buyer is called."""

FORGET_KEYS: Final = """
-- What was answered under the buyer's own keys, and operators' answers that name the buyer.
DELETE FROM idempotency_key
 WHERE buyer = %(buyer)s
    OR buyer IS NULL AND EXISTS (
         SELECT FROM unnest(%(names)s::bytea[]) AS name WHERE position(name IN body) > 0)
"""

FORGET_MAILS: Final = "DELETE FROM mail WHERE lower(address) = ANY (%(addresses)s::text[])"

REMEMBER: Final = """
INSERT INTO buyer_erasure (event_id, pseudonym, audit_id) VALUES (%(event)s, %(pseudonym)s, %(audit)s)
"""

ERASED: Final = """
SELECT batch_no, position, digest FROM ledger_erasure WHERE event_id = %(event)s ORDER BY id
"""
