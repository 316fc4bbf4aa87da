"""Faults in what subscribers are told, in which order, how often, and where it may go."""

from __future__ import annotations

from tests.mutants.mutant import In, Kind, Mutant

RELAY = "tests/notifier/test_relay.py"
TRIES = "tests/notifier/test_relay_tries.py"
OUTGOING = "tests/notifier/test_outgoing.py"
BACKOFF = "tests/notifier/test_backoff.py"
ADDRESSES = "tests/store/subscribers/test_addresses.py"
EDIT = "tests/store/subscribers/test_edit.py"
TRIM = "tests/store/subscribers/test_trim.py"
ONE_AT_A_TIME = f"{RELAY}::test_the_next_goes_out_when_the_one_before_was_answered"
TWO_RELAYS = f"{RELAY}::test_two_relays_keep_the_order_of_each_event_and_send_nothing_twice"
LEASED = f"{RELAY}::test_a_lane_is_one_relays_until_its_lease_ran_out"
LOST = f"{RELAY}::test_whoever_lost_the_lease_notes_nothing_and_stops"
POISON = f"{TRIES}::test_a_poison_message_is_set_aside_and_those_behind_it_go_on"
GONE = f"{TRIES}::test_410_disables_a_subscriber_and_nothing_is_lost"
AWAY = f"{TRIES}::test_who_is_away_is_waited_for_once_enough_is_set_aside"
FAILING = f"{TRIES}::test_who_could_not_be_delivered_anything_for_days_is_disabled"
CHOSEN = f"{RELAY}::test_only_what_was_asked_for_is_told"
REWRITTEN = f"{OUTGOING}::test_no_way_to_write_this_machines_address_leads_to_it"
NAMED = f"{OUTGOING}::test_a_name_with_any_address_that_is_not_public_is_refused_whole"
REBOUND = f"{OUTGOING}::test_a_name_that_changes_between_the_look_and_the_connection_leads_nowhere_else"
NOT_PUBLIC = f"{ADDRESSES}::test_every_other_address_is_not_however_it_is_carried"
URLS = f"{ADDRESSES}::test_a_url_that_may_not_is_refused_with_what_to_do"
lanes = In("store/subscribers/lanes.py")
again = In("store/subscribers/again.py")
edit = In("store/subscribers/edit.py")
trim = In("store/subscribers/trim.py")
addresses = In("store/subscribers/addresses.py")
lane = In("notifier/lane.py")
notes = In("notifier/notes.py")
relay = In("notifier/relay.py")
outgoing = In("notifier/outgoing.py")
reading = In("notifier/reading.py")
backoff = In("notifier/backoff.py")

TOLD: list[Mutant] = [
    lanes(
        Kind.FENCE,
        "a lane is claimed by one relay at a time",
        "     AND (p.leased_until IS NULL OR p.leased_until <= clock_timestamp())\n     AND (SELECT",
        "     AND (SELECT",
        LEASED,
        more=(
            (
                " OR p.leased_until <= clock_timestamp()) AND p.next_at <= clock_timestamp()\n",
                " OR true)\n",
            ),
        ),
    ),
    lanes(
        Kind.FENCE,
        "who lost a lane notes nothing on it",
        " AND p.event_id = n.event_id AND p.lease = n.lease\n",
        " AND p.event_id = n.event_id\n",
        LOST,
    ),
    notes(
        Kind.FENCE,
        "who lost a lane stops",
        "                lane.stopped = lane.stopped or not ours.get(one.key, False)\n",
        "",
        f"{RELAY}::test_who_lost_a_lane_or_was_disabled_is_sent_nothing_more",
    ),
    lane(
        Kind.FENCE,
        "nothing is sent under a lease that may end before the answer",
        "        return time.monotonic() + SECONDS_MAX + MARGIN_SECONDS < self.good_until\n",
        "        return True\n",
        f"{RELAY}::test_a_lease_that_could_end_before_the_answer_is_renewed_first",
    ),
    lane(
        Kind.COMMIT,
        "what was sent and not answered is not noted as told",
        "            answer = await self._outgoing.send(self._claimed.endpoint, message)\n",
        "            self._pass(row)\n"
        "            answer = await self._outgoing.send(self._claimed.endpoint, message)\n",
        f"{RELAY}::test_a_relay_ends_within_a_second_though_a_subscriber_does_not_answer",
    ),
    lane(
        Kind.BOUND,
        "a poison message is set aside",
        "        if self._tries + 1 < backoff.QUICK_TRIES or self._claimed.full:\n",
        "        if True:\n",
        POISON,
    ),
    lane(
        Kind.BOUND,
        "who is away is waited for once enough is set aside",
        "        if self._tries + 1 < backoff.QUICK_TRIES or self._claimed.full:\n",
        "        if self._tries + 1 < backoff.QUICK_TRIES:\n",
        AWAY,
    ),
    lane(
        Kind.CONDITION,
        "a failed message is not passed by before it is set aside",
        "            elif not self._failed(row, message, answer):\n                return False\n",
        "            elif not self._failed(row, message, answer):\n                self._pass(row)\n",
        f"{TRIES}::test_what_is_mended_within_the_quick_tries_keeps_its_order",
    ),
    lane(
        Kind.CONDITION,
        "410 disables a subscriber",
        "        if answer.gone:\n",
        "        if answer.gone and not answer.gone:\n",
        GONE,
    ),
    lane(
        Kind.CONDITION,
        "only kinds that were asked for are told",
        "            if self._claimed.kinds and row.kind not in self._claimed.kinds:\n",
        "            if False:\n",
        CHOSEN,
    ),
    lanes(
        Kind.CONDITION,
        "only the event that was asked for is told",
        " AND coalesce(s.event_id, told.event_id) = told.event_id\n",
        "\n",
        CHOSEN,
    ),
    lanes(
        Kind.CONDITION,
        "who is disabled is told nothing",
        "   WHERE s.state = 'active' AND p.next_at <= clock_timestamp()\n",
        "   WHERE p.next_at <= clock_timestamp()\n",
        GONE,
    ),
    again(
        Kind.FENCE,
        "what is tried again is one relay's at a time",
        '   AND d.next_at = n.claim\n"""\nFAILED',
        '"""\nFAILED',
        f"{TRIES}::test_what_another_relay_tries_meanwhile_is_left_to_it",
    ),
    again(
        Kind.CONDITION,
        "only who was delivered nothing for days is disabled",
        "                AND d.first_at > coalesce(s.delivered_at, '-infinity'))\n",
        "                )\n",
        f"{TRIES}::test_who_was_delivered_something_meanwhile_is_not_disabled_for_a_dead_letter",
    ),
    again(
        Kind.CONDITION,
        "who was delivered nothing for days is disabled",
        " WHERE s.id = ANY (%(subscribers)s::int[]) AND s.state = 'active'\n   AND EXISTS",
        " WHERE s.id = ANY (%(subscribers)s::int[]) AND s.state = 'disabled'\n   AND EXISTS",
        FAILING,
    ),
    backoff(
        Kind.BOUND,
        "after the last try a message is dead",
        "    if tries >= TRIES_MAX:\n        return None\n",
        "",
        f"{BACKOFF}::test_after_the_last_try_there_is_none",
    ),
    backoff(
        Kind.BOUND,
        "a subscriber does not say when to come back beyond a bound",
        "    return max(own, min(asked_seconds, ASKED_SECONDS_MAX))\n",
        "    return max(own, asked_seconds)\n",
        f"{BACKOFF}::test_a_subscriber_is_believed_when_to_come_back_within_bounds",
    ),
]

WHERE: list[Mutant] = [
    outgoing(
        Kind.ORIGIN,
        "a name with a private address is not asked",
        '            if not self._allowed(one["host"]):\n',
        "            if False:\n",
        NAMED,
    ),
    outgoing(
        Kind.ORIGIN,
        "a socket is made for public addresses only",
        "        if not self._allowed(str(address[0])):\n",
        "        if False:\n",
        REWRITTEN,
        REBOUND,
    ),
    outgoing(
        Kind.ORIGIN,
        "redirects are not followed",
        "                allow_redirects=False,\n",
        "                allow_redirects=True,\n",
        f"{OUTGOING}::test_redirects_are_answers_and_are_not_followed",
    ),
    outgoing(
        Kind.BOUND,
        "of an answer's body only so much is read",
        "        if read > BODY_BYTES_MAX:\n            response.close()\n            return\n",
        "",
        f"{OUTGOING}::test_of_an_endless_answer_only_so_much_is_read",
    ),
    outgoing(
        Kind.BOUND,
        "an answer has a time",
        "            timeout=aiohttp.ClientTimeout(total=SECONDS_MAX),\n",
        "            timeout=aiohttp.ClientTimeout(total=3_600),\n",
        f"{OUTGOING}::test_who_does_not_answer_in_time_is_let_go",
    ),
    addresses(
        Kind.ORIGIN,
        "a private address is not public whatever carries it",
        "    return all(_is_global(one) for one in (parsed, *_carried(parsed)))\n",
        "    return _is_global(parsed)\n",
        NOT_PUBLIC,
    ),
    addresses(
        Kind.ORIGIN,
        "an address that means many hosts is not public",
        "address.is_multicast or address.is_reserved",
        "address.is_reserved",
        NOT_PUBLIC,
    ),
    addresses(
        Kind.ORIGIN,
        "special networks are not public on any Python",
        "    return address.is_global and not special and not named\n",
        "    return address.is_global and not special\n",
        NOT_PUBLIC,
    ),
    addresses(
        Kind.ORIGIN,
        "subscribers are asked over http and https alone",
        '    if parts.scheme not in ("http", "https") or not host or port == 0:\n',
        "    if not host or port == 0:\n",
        URLS,
    ),
    addresses(
        Kind.ORIGIN,
        "a URL on this machine is refused at once",
        "    if not allow_private and _is_not_public(host):\n",
        "    if False:\n",
        URLS,
    ),
]

OPERATED: list[Mutant] = [
    lanes(
        Kind.TOKEN,
        "a secret that was rotated away signs no longer once its time is over",
        "       CASE WHEN s.previous_until > clock_timestamp() THEN s.previous_secret END,\n       (SELECT",
        "       s.previous_secret,\n       (SELECT",
        f"{OUTGOING}::test_after_a_rotation_both_secrets_verify_until_the_old_one_ends",
    ),
    edit(
        Kind.BOUND,
        "there are only so many subscribers, also when two are added at once",
        "        conn.execute(LOCK_ALL)\n",
        "",
        f"{EDIT}::test_there_are_only_so_many_also_when_two_are_added_at_once",
    ),
    edit(
        Kind.CONDITION,
        "a replay is of one subscriber",
        " WHERE subscriber_id = %(subscriber)s\n   AND CASE",
        " WHERE CASE",
        f"{EDIT}::test_a_replay_touches_no_other_subscriber",
    ),
    edit(
        Kind.CONDITION,
        "removing leaves other subscribers alone",
        'REMOVE_DELIVERIES: Final = "DELETE FROM delivery WHERE subscriber_id = %(subscriber)s"\n',
        'REMOVE_DELIVERIES: Final = "DELETE FROM delivery"\n',
        f"{EDIT}::test_removing_leaves_nothing_but_who_did_it",
    ),
    trim(
        Kind.CONDITION,
        "what somebody has yet to read stays in the outbox",
        "     AND NOT ({readers})\n",
        "",
        f"{TRIM}::test_rows_that_everybody_has_read_go_when_they_are_old",
    ),
    trim(
        Kind.CONDITION,
        "what a subscriber has not begun to read stays in the outbox",
        "coalesce(p.number, 0) < o.number)",
        "p.number < o.number)",
        f"{TRIM}::test_what_a_subscriber_has_not_begun_to_read_stays",
    ),
    trim(
        Kind.CONDITION,
        "messages that are tried again are not trimmed as dead",
        "   WHERE state = 'dead' AND next_at <",
        "   WHERE next_at <",
        f"{TRIM}::test_dead_letters_go_when_they_are_old_and_what_waits_stays",
    ),
    reading(
        Kind.BOUND,
        "only so many names of seats are kept",
        "(len(self._names) > EVENTS_MAX or kept > NAMES_MAX)",
        "len(self._names) > EVENTS_MAX",
        "tests/notifier/test_reading.py::test_names_are_kept_of_the_last_events_within_bounds",
    ),
]

MUTANTS: list[Mutant] = [*TOLD, *WHERE, *OPERATED]
