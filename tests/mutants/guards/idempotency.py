"""Faults in what makes a call with an Idempotency-Key be done once and answered the same."""

from __future__ import annotations

from tests.mutants.mutant import In, Kind, Mutant

STORE = "tests/store/test_idempotency.py"
CALLS = "tests/gateway/test_idempotency.py"
KEYS = "tests/gateway/test_idempotency_key.py"
LEASE = f"{STORE}::test_when_the_lease_is_over_the_next_one_does_it_and_only_its_answer_counts"
NOT_KEPT = f"{CALLS}::test_what_was_not_decided_is_not_kept"
store = In("store/idempotency.py")
calls = In("gateway/idempotency.py")
keys = In("gateway/idempotency_key.py")
access = In("gateway/operators/access.py")
api = In("gateway/api.py")

MUTANTS: list[Mutant] = [
    store(
        Kind.DEDUPE,
        "a call under way is nobody else's to do",
        "    OR idempotency_key.lease_until <= clock_timestamp()\n",
        "    OR idempotency_key.lease_until <= clock_timestamp() + interval '1 hour'\n",
        f"{STORE}::test_one_has_the_call_and_whoever_asks_meanwhile_is_told_that_it_is_under_way",
    ),
    store(
        Kind.TAKEOVER,
        "a call whose lease is over is taken over only with its content",
        "       AND idempotency_key.fingerprint = excluded.fingerprint\n",
        "",
        f"{STORE}::test_a_key_is_not_used_for_another_content",
    ),
    store(
        Kind.DEDUPE,
        "a key with an answer is not used for another content",
        "        if theirs != fingerprint:\n",
        "        if theirs != fingerprint and status is None:\n",
        f"{STORE}::test_a_key_is_not_used_for_another_content",
    ),
    store(
        Kind.FENCE,
        "who lost the lease writes no answer",
        ' WHERE scope = %(scope)s AND owner = %(owner)s AND status IS NULL\n"""\n\nLET_GO',
        ' WHERE scope = %(scope)s AND status IS NULL\n"""\n\nLET_GO',
        LEASE,
        f"{STORE}::test_who_lost_the_lease_cannot_make_the_change",
    ),
    store(
        Kind.CONDITION,
        "the first answer under a key stands",
        ' AND owner = %(owner)s AND status IS NULL\n"""\n\nLET_GO',
        ' AND owner = %(owner)s\n"""\n\nLET_GO',
        f"{STORE}::test_the_first_answer_stands",
    ),
    store(
        Kind.FENCE,
        "who lost the lease lets nobody else's call go",
        "DELETE FROM idempotency_key WHERE scope = %(scope)s AND owner = %(owner)s AND status IS NULL\n",
        "DELETE FROM idempotency_key WHERE scope = %(scope)s AND status IS NULL\n",
        LEASE,
    ),
    store(
        Kind.CONDITION,
        "an answer under a key is not let go",
        "DELETE FROM idempotency_key WHERE scope = %(scope)s AND owner = %(owner)s AND status IS NULL\n",
        "DELETE FROM idempotency_key WHERE scope = %(scope)s AND owner = %(owner)s\n",
        f"{STORE}::test_the_first_answer_stands",
        f"{CALLS}::test_what_was_blocked_is_answered_even_if_the_gateway_died_before_it_answered",
    ),
    store(
        Kind.FENCE,
        "who lost the lease makes no change",
        "    if conn.execute(KEEP, _values(taken, answer)).rowcount != 1:\n",
        "    if conn.execute(KEEP, _values(taken, answer)).rowcount > 1:\n",
        f"{STORE}::test_who_lost_the_lease_cannot_make_the_change",
        f"{CALLS}::test_a_gateway_that_took_too_long_to_block_blocks_nothing",
    ),
    store(
        Kind.BOUND,
        "a buyer has so many keys at a time",
        "LIMIT {KEYS_PER_BUYER_MAX}) AS theirs) < {KEYS_PER_BUYER_MAX}\n",
        "LIMIT {KEYS_PER_BUYER_MAX}) AS theirs) >= 0\n",
        f"{STORE}::test_a_buyer_has_so_many_keys_at_a_time_and_their_answers_are_still_given",
    ),
    store(
        Kind.CLOCK,
        "keys are forgotten after a day and not before",
        "WHERE made_at <= clock_timestamp() - interval '{KEPT_HOURS} hours'\n   ORDER",
        "WHERE made_at <= clock_timestamp()\n   ORDER",
        f"{STORE}::test_trimming_forgets_what_is_a_day_old_so_many_at_a_time",
    ),
    store(
        Kind.LOCK_ORDER,
        "who forgets keys waits for nobody",
        " FOR UPDATE SKIP LOCKED)",
        ")",
        f"{STORE}::test_trimming_waits_for_nobody",
    ),
    store(
        Kind.TOKEN,
        "a buyer's key is nothing to another buyer",
        '["buyer", buyer] if buyer is not None else ["operator"]\n',
        '["buyer"] if buyer is not None else ["operator"]\n',
        f"{STORE}::test_a_key_is_of_who_asks_and_of_one_call",
        f"{CALLS}::test_one_buyers_key_is_nothing_to_another",
    ),
    calls(
        Kind.TOKEN,
        "an operator's answers are given to who has the operator key",
        "        except OnsaleError:  # the call itself says so\n            return None\n",
        "        except OnsaleError:\n            return Asked(None, None, keys)\n",
        NOT_KEPT,
        f"{CALLS}::test_who_may_not_ask_gets_no_answer_of_who_may",
    ),
    calls(
        Kind.CONDITION,
        "what was not decided is not kept under its key",
        "{400, 401, 403, 405, 408, 413, 425, 429}",
        "{403, 405, 408, 425, 429}",
        NOT_KEPT,
    ),
    calls(
        Kind.CONDITION,
        "failures are not kept under a key",
        "(400 <= status < 500 and status not in _NOT_DECIDED)",
        "(400 <= status and status not in _NOT_DECIDED)",
        f"{CALLS}::test_a_failure_is_not_kept_and_the_next_does_it_at_once",
    ),
    calls(
        Kind.CONDITION,
        "a call that does not exist is not kept under its key",
        'not too_long and "endpoint" in self._scope and',
        "not too_long and",
        NOT_KEPT,
    ),
    calls(
        Kind.CONDITION,
        "who left before the end of the body has asked for nothing",
        '        if message["type"] == "http.disconnect":\n            return None\n',
        '        if message["type"] == "http.disconnect":\n            return bytes(body)\n',
        f"{CALLS}::test_who_leaves_before_the_end_of_the_body_has_done_nothing",
    ),
    calls(
        Kind.BOUND,
        "no longer body is read for a key than any call takes",
        "        if len(body) > BODY_BYTES_MAX:\n",
        "        if len(body) > 64 * BODY_BYTES_MAX:\n",
        f"{CALLS}::test_a_body_that_is_too_long_is_read_no_further",
    ),
    calls(
        Kind.CONDITION,
        "what counts up is refused without a key",
        "    if not (keys or needs_key(path)) or not",
        "    if not keys or not",
        f"{CALLS}::test_what_counts_up_is_refused_without_a_key",
    ),
    keys(
        Kind.CONDITION,
        "a key of a request is the request's and nobody else's",
        '= ("/requests", "/room/codes", "/room/join")',
        '= ("/room/codes", "/room/join")',
        f"{KEYS}::test_changes_of_buyers_and_operators_take_a_key_and_nothing_else_does",
    ),
    access(
        Kind.DEDUPE,
        "what counts up and its answer are true together",
        "        idempotency.keep_with(conn, taken, idempotency",
        "        print(conn, taken, idempotency",
        f"{CALLS}::test_a_gateway_that_took_too_long_to_block_blocks_nothing",
        f"{CALLS}::test_what_was_blocked_is_answered_even_if_the_gateway_died_before_it_answered",
    ),
    api(
        Kind.DEDUPE,
        "places are given back under a key only from so many",
        "    if body.areas is not UNSET and body.quantity is UNSET and",
        "    if body.areas is UNSET and body.quantity is UNSET and body.seats is not UNSET and",
        f"{CALLS}::test_places_are_given_back_under_a_key_only_from_so_many",
    ),
]
