"""Faults in who operates: what keys let in, for how long, for what, cookies of other pages, and the audit."""

from __future__ import annotations

from tests.mutants.mutant import In, Kind, Mutant

CALLERS = "tests/gateway/test_callers.py"
ROLES = "tests/gateway/test_operator_roles.py"
AUDITED = "tests/gateway/test_operator_audited.py"
KEYS = "tests/store/operators/test_keys.py"
ORIGINS = "tests/gateway/test_origins.py"
callers = In("gateway/callers.py")
origins = In("gateway/origins.py")
access = In("gateway/operators/access.py")
session = In("gateway/operators/session.py")
routes = In("gateway/operators/routes.py")
money = In("gateway/operators/money.py")
keys = In("store/operators/keys.py")
known = In("store/operators/known.py")
sessions = In("store/operators/sessions.py")
events = In("store/events.py")
idempotency = In("gateway/idempotency_key.py")

WHO: list[Mutant] = [
    In("gateway/operators/audits.py")(
        Kind.TOKEN,
        "who only looks on is not told whom the audit is about",
        "    if caller.role.includes(Role.OPERATOR):\n",
        "    if caller.role.includes(Role.VIEWER):\n",
        f"{AUDITED}::test_who_only_looks_on_is_not_told_which_buyer_it_was",
    ),
    callers(
        Kind.TOKEN,
        "a key's number lets nobody in without its secret",
        "if key is None or not key.has_secret(written.digest):",
        "if key is None:",
        f"{CALLERS}::test_a_wrong_secret_lets_nobody_in",
    ),
    callers(
        Kind.TOKEN,
        "a revoked key lets nobody in",
        "            if key.revoked:\n",
        "            if False:\n",
        f"{CALLERS}::test_a_revoked_key_is_refused_everywhere_soon",
    ),
    callers(
        Kind.EXPIRY,
        "a key that ran out lets nobody in",
        "            if key.expired:\n",
        "            if False:\n",
        f"{CALLERS}::test_a_key_that_ran_out_is_refused",
    ),
    callers(
        Kind.EXPIRY,
        "a key is not believed for longer than is said",
        "now - kept.asked_at < BELIEVED_SECONDS",
        "now - kept.asked_at < LATELY_SECONDS",
        f"{CALLERS}::test_a_revoked_key_is_refused_everywhere_soon",
    ),
    callers(
        Kind.BOUND,
        "keys cannot be tried without end",
        "            if wait > 0:\n",
        "            if False:\n",
        f"{CALLERS}::test_who_tries_keys_is_told_to_wait_and_nobody_else_is",
    ),
    callers(
        Kind.BOUND,
        "who is at work is not locked out by wrong keys of others",
        "counted = kept is None or now - kept.asked_at > LATELY_SECONDS",
        "counted = True",
        f"{CALLERS}::test_who_is_at_work_at_an_address_is_not_locked_out_by_a_wrong_key_there",
    ),
    known(
        Kind.EXPIRY,
        "the secret before a rotation counts no longer than its grace",
        "CASE WHEN previous_until > clock_timestamp() THEN previous_digest END",
        "previous_digest",
        f"{CALLERS}::test_the_secret_before_goes_on_for_its_grace_and_no_longer",
    ),
    idempotency(
        Kind.TOKEN,
        "what lets an operator in is kept under no key",
        "not path.startswith((*SECRETS, *BY_SLUG))",
        "not path.startswith(BY_SLUG)",
        "tests/gateway/test_idempotency_key.py::test_what_lets_somebody_in_is_kept_nowhere",
    ),
]

SESSIONS: list[Mutant] = [
    callers(
        Kind.ORIGIN,
        "what changes something by cookie comes from our own page",
        "            self.must_be_own_page(call, browser=True)\n",
        "            pass\n",
        f"{CALLERS}::test_what_changes_something_by_cookie_must_come_from_our_own_page",
    ),
    callers(
        Kind.ORIGIN,
        "a websocket by cookie comes from our own page",
        'if call.scope["type"] == "websocket" or call.scope["method"] not in SAFE:',
        'if call.scope["type"] != "websocket" and call.scope["method"] not in SAFE:',
        f"{CALLERS}::test_a_websocket_by_cookie_must_come_from_our_own_page",
    ),
    callers(
        Kind.ORIGIN,
        "a browser that says nothing of its page is no page of ours",
        "if not own and (browser or own is False):",
        "if own is False:",
        f"{CALLERS}::test_what_changes_something_by_cookie_must_come_from_our_own_page",
    ),
    session(
        Kind.ORIGIN,
        "no other page logs anybody in",
        "    callers.must_be_own_page(request, browser=False)\n",
        "",
        f"{CALLERS}::test_no_other_page_logs_anybody_in",
    ),
    origins(
        Kind.ORIGIN,
        "who is no proxy of ours is not believed about https",
        "    if not is_one_of(client, trusted):\n        return False\n",
        "",
        f"{ORIGINS}::test_only_our_proxies_are_believed_about_https",
    ),
    origins(
        Kind.ORIGIN,
        "a page without encryption is no page of ours by https",
        ' and (scheme == "https" or not https)',
        "",
        f"{ORIGINS}::test_a_page_of_this_origin_is_told_from_others",
    ),
    callers(
        Kind.TOKEN,
        "a session ends with its key",
        "if key is None or begun_with is None or key.revoked or key.expired:",
        "if key is None or begun_with is None or key.expired:",
        f"{CALLERS}::test_a_session_ends_with_its_key",
        more=(
            (
                "                begun_with = None if key is None else key.secret_of(session, cookie)\n",
                "                begun_with = None if key is None else key.digest\n",
            ),
        ),
    ),
    callers(
        Kind.TOKEN,
        "a session of the environment's key ends when that is another",
        "if not self._environment or not session.is_of(cookie, caller.key_digest):",
        "if not self._environment:",
        f"{CALLERS}::test_a_session_of_the_environments_key_ends_when_that_is_another",
    ),
    known(
        Kind.EXPIRY,
        "a session ends by time",
        "  FROM operator_session WHERE digest = %(digest)s AND ends_at > clock_timestamp()\n",
        "  FROM operator_session WHERE digest = %(digest)s\n",
        f"{CALLERS}::test_a_session_that_is_used_goes_on_but_not_beyond_its_bound",
    ),
    known(
        Kind.BOUND,
        "a session that is used goes on only up to its bound",
        "SET ends_at = least(clock_timestamp() + interval '{SESSION_IDLE_SECONDS} seconds', ends_at_latest)",
        "SET ends_at = clock_timestamp() + interval '{SESSION_IDLE_SECONDS} seconds'",
        f"{CALLERS}::test_a_session_that_is_used_goes_on_but_not_beyond_its_bound",
    ),
    sessions(
        Kind.BOUND,
        "a key begins only so many sessions",
        "ORDER BY ends_at DESC OFFSET %(kept)s",
        "ORDER BY ends_at DESC OFFSET %(kept)s + 1000",
        f"{CALLERS}::test_a_key_begins_only_so_many_sessions_and_the_oldest_goes",
    ),
]

WHAT: list[Mutant] = [
    access(
        Kind.TOKEN,
        "a call asks for its role",
        "    if not caller.role.includes(role):\n",
        "    if False:\n",
        f"{ROLES}::test_each_call_asks_for_its_role",
        f"{CALLERS}::test_a_role_is_asked_for_and_no_more_is_given",
    ),
    access(
        Kind.TOKEN,
        "a key finds no event that it is not for",
        "        must_see(caller, event)\n",
        "        return\n",
        f"{ROLES}::test_no_call_finds_an_event_its_key_is_not_for",
    ),
    access(
        Kind.TOKEN,
        "a key for some events does nothing that is about more",
        '    elif not getattr(request.scope["endpoint"], "of_its_events", False):\n',
        "    elif False:\n",
        f"{ROLES}::test_no_call_finds_an_event_its_key_is_not_for",
    ),
    routes(
        Kind.TOKEN,
        "a list of events has only those that a key is for",
        "[event for event in found if caller.may_see(event.slug)]",
        "found",
        f"{ROLES}::test_a_list_shows_a_limited_key_what_is_its_own",
    ),
    money(
        Kind.TOKEN,
        "nothing is moved to an event that a key is not for",
        "    must_see(caller_of(request), wanted.to)\n",
        "",
        f"{ROLES}::test_nothing_is_moved_to_an_event_its_key_is_not_for",
    ),
    keys(
        Kind.CONDITION,
        "somebody can always make keys",
        "if keep_an_owner and key.role is Role.OWNER and key.events is None and not others:",
        "if False:",
        f"{KEYS}::test_the_last_owner_of_everything_stays",
    ),
    keys(
        Kind.CONDITION,
        "two owners who revoke each other at once are not both gone",
        '            conn.execute(LOCK, {"lock": LOCK_KEY})\n',
        "",
        f"{KEYS}::test_two_owners_who_revoke_each_other_at_once_are_not_both_gone",
    ),
    keys(
        Kind.BOUND,
        "there are only so many keys",
        ">= KEYS_MAX:",
        ">= 100 * KEYS_MAX + 100:",
        f"{KEYS}::test_there_are_only_so_many_keys",
    ),
    keys(
        Kind.TOKEN,
        "no key takes another's name",
        "    _check(name.lower() not in RESERVED, ",
        "    _check(True, ",
        f"{KEYS}::test_what_is_no_key_is_refused_and_leaves_nothing",
    ),
    events(
        Kind.CONDITION,
        "who was slower changes nothing",
        "        if seen is not None and seen is not event.state:\n",
        "        if False:\n",
        f"{AUDITED}::test_who_was_slower_is_told_what_it_is_now_and_by_whom",
    ),
    events(
        Kind.CONDITION,
        "terms are changed only where they are what was seen",
        "changed_since(seen or {}, event)",
        "changed_since({}, event)",
        "tests/store/test_events.py::test_a_policy_is_changed_only_where_it_is_what_was_seen",
    ),
    events(
        Kind.CHECKER,
        "who opens, pauses and closes an event is in the audit",
        '            audit.write(conn, event.id, said, {"change": "state", "from": event.state, "to": to})\n',
        "            pass\n",
        f"{AUDITED}::test_every_change_leaves_a_row_that_says_who_did_what",
    ),
    In("gateway/cross_origin.py")(
        Kind.TOKEN,
        "no page of another origin may operate",
        'if path == OPERATORS or path.startswith(f"{OPERATORS}/"):',
        "if path == OPERATORS:",
        "tests/gateway/test_cross_origin.py::test_no_page_of_another_origin_may_operate_listed_or_not",
    ),
    In("store/terms.py")(
        Kind.BOUND,
        "a time that was seen is compared only where it is one",
        "            check_moment(name, value)\n    there",
        "            pass\n    there",
        "tests/gateway/test_operators.py::"
        "test_when_lobby_and_sale_begin_is_said_changed_and_taken_away_until_they_have",
    ),
]

MUTANTS: list[Mutant] = [*WHO, *SESSIONS, *WHAT]
