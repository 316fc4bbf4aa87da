"""Faults in what stands before a place: who comes from where, bounds, proof of work, evidence, mail."""

from __future__ import annotations

from tests.mutants.mutant import In, Kind, Mutant

ADDRESSES = "tests/gateway/room/test_addresses.py"
LIMITS = "tests/gateway/room/test_limits.py"
PROOF = "tests/gateway/room/test_proof.py"
PATIENCE = "tests/gateway/room/test_patience.py"
LINE_FORMS = "tests/gateway/room/test_line_forms.py"
GUARD = "tests/gateway/room/test_guard.py"
GUARDED = "tests/gateway/room/test_guarded.py"
TOKENS = "tests/gateway/room/test_admission_tokens.py"
REFUSED = "tests/store/room/test_refused.py"
TELLING = "tests/store/room/test_telling.py"
addresses = In("gateway/addresses.py")
app = In("gateway/app.py")
limits = In("gateway/room/limits.py")
proof = In("gateway/room/proof.py")
used = In("gateway/room/used.py")
patience = In("gateway/room/patience.py")
visit = In("gateway/pages/visit.py")
human = In("gateway/room/human.py")
guard = In("gateway/room/guard.py")
acting = In("gateway/room/acting.py")
refusals = In("gateway/room/refusals.py")
keys = In("gateway/room/keys.py")
tokens = In("gateway/room/admission_tokens.py")
rows = In("store/room/refused.py")
joining = In("store/room/joining.py")
admitting = In("store/room/admitting.py")
telling = In("store/room/telling.py")

MIDDLEWARE = "tests/clients/test_middleware.py"
middleware = In("clients/python/onsale_client/middleware.py")
keyset = In("clients/python/onsale_client/keyset.py")

BY_HOPS = f"{ADDRESSES}::test_it_is_read_from_the_right_as_far_as_proxies_of_ours_wrote_it"

MUTANTS: list[Mutant] = [
    addresses(
        Kind.ORIGIN,
        "only our own proxies are believed about who comes from where",
        "    if trusted and _is_in(peer, trusted):\n",
        "    if trusted:\n",
        BY_HOPS,
    ),
    addresses(
        Kind.ORIGIN,
        "what a client writes into X-Forwarded-For is not read",
        "        if not _is_in(peer, trusted):\n            return peer\n",
        "",
        BY_HOPS,
    ),
    addresses(
        Kind.BOUND,
        "a household with many IPv6 addresses is counted once",
        "IPV6_PREFIX_BITS: Final = 64",
        "IPV6_PREFIX_BITS: Final = 128",
        f"{ADDRESSES}::test_a_household_is_one_address",
    ),
    app(
        Kind.ORIGIN,
        "the server believes no header about who connected",
        "proxy_headers=False",
        "proxy_headers=True",
        f"{ADDRESSES}::test_the_server_itself_believes_no_header_neither_of_http_nor_of_sockets",
    ),
    limits(
        Kind.BOUND,
        "addresses and buyers that are remembered are bounded",
        "        if len(self._full_at) > self._kept_max:\n            self._full_at.popitem(last=False)\n",
        "",
        f"{LIMITS}::test_what_is_remembered_is_bounded_and_the_busiest_are_remembered",
    ),
    limits(
        Kind.BOUND,
        "who is refused takes nothing from their neighbours",
        "            if wait > 0:\n",
        "            buckets.take(name, now)\n            if wait > 0:\n",
        f"{LIMITS}::test_one_who_is_refused_takes_nothing_from_their_neighbours",
        f"{LIMITS}::test_thousands_of_joins_from_one_address_are_refused_with_what_to_do",
    ),
    used(
        Kind.DEDUPE,
        "a proof of work is good once",
        "        if name in self._ends:\n",
        "        if False:\n",
        f"{PROOF}::test_who_solved_it_may_join_once",
    ),
    proof(
        Kind.TOKEN,
        "a proof of work is for one buyer",
        ' or said.data["buyer"] != self._name(buyer)',
        "",
        f"{PROOF}::test_it_is_for_one_buyer_at_one_event",
    ),
    proof(
        Kind.TOKEN,
        "a proof of work is for one event",
        'said.data["event"] != event or ',
        "",
        f"{PROOF}::test_it_is_for_one_buyer_at_one_event",
    ),
    used(
        Kind.BOUND,
        "proofs that were used are remembered in bounded memory",
        "(len(self._ends) >= self._used_max or self._first_end() < now)",
        "self._first_end() < now",
        f"{PROOF}::test_what_was_used_is_remembered_until_it_ends_and_in_bounded_memory",
    ),
    patience(
        Kind.BOUND,
        "waits of one address go one after the other",
        "max(now, self._last_due.get(address, now)) + PATIENCE_SECONDS",
        "now + PATIENCE_SECONDS",
        f"{PATIENCE}::test_tickets_of_one_address_are_due_one_after_the_other_and_of_another_at_once",
        f"{PATIENCE}::test_an_address_gets_no_more_places_by_waiting_than_its_waits_have_room",
    ),
    patience(
        Kind.CLOCK,
        "nobody joins before their wait is over",
        "        if left:\n",
        "        if False:\n",
        f"{PATIENCE}::test_who_waited_may_join_once_and_not_sooner",
    ),
    patience(
        Kind.DEDUPE,
        "a wait gives one place",
        " or ticket in self._used",
        "",
        f"{PATIENCE}::test_who_waited_may_join_once_and_not_sooner",
    ),
    patience(
        Kind.TOKEN,
        "a wait is over one day",
        "due + GOOD_SECONDS < self._clock()",
        "False",
        f"{PATIENCE}::test_it_ends",
    ),
    patience(
        Kind.TOKEN,
        "a wait is for one buyer at one event from one address",
        '"\\x00".join((str(due_ms), event, address, buyer))',
        "str(due_ms)",
        f"{PATIENCE}::test_it_is_for_one_buyer_at_one_event_from_one_address",
    ),
    patience(
        Kind.BOUND,
        "nobody is told to wait for longer than ten minutes",
        "        if over > 0:\n",
        "        if False:\n",
        f"{PATIENCE}::test_an_address_whose_waits_reach_far_is_told_when_to_ask_again",
    ),
    patience(
        Kind.BOUND,
        "addresses that wait are remembered in bounded memory",
        "        if len(self._last_due) > self._kept_max:\n            self._last_due.popitem(last=False)\n",
        "",
        f"{PATIENCE}::test_what_is_remembered_is_bounded_and_who_asks_again_and_again_is_remembered",
    ),
    visit(
        Kind.CONDITION,
        "who presses again waits no longer",
        "        if self._wait_left() is None:\n",
        "        if True:\n",
        f"{LINE_FORMS}::test_who_cannot_prove_waits_and_joins",
    ),
    human(
        Kind.CONDITION,
        "nobody joins without the answer of the human check",
        "        if not human:\n",
        "        if False:\n",
        f"{GUARD}::test_a_human_passes_and_nobody_else_does",
    ),
    guard(
        Kind.CONDITION,
        "a quiet room asks for no proof any more",
        "            self._before = self._now if minute == self._minute + 1 else 0\n",
        "            self._before = self._now\n",
        f"{GUARD}::test_a_meter_measures_the_last_minute",
    ),
    guard(
        Kind.BOUND,
        "attempts at codes are bounded",
        "            if asking.has_code:\n",
        "            if False:\n",
        f"{GUARDED}::test_codes_guessed_in_bulk_are_refused_with_what_to_do",
    ),
    acting(
        Kind.BOUND,
        "a wrong code counts as an attempt",
        'getattr(error, "code", "") not in WRONG_CODES',
        "True",
        f"{GUARDED}::test_codes_guessed_in_bulk_are_refused_with_what_to_do",
        f"{GUARDED}::test_a_right_code_is_no_attempt_and_one_that_was_used_is",
    ),
    acting(
        Kind.CONDITION,
        "who has a place proves nothing once more",
        " and known.place.state in LIVE",
        " and False",
        f"{GUARDED}::test_a_busy_rooms_proof_is_told_in_its_status_asked_for_and_good_once",
    ),
    refusals(
        Kind.BOUND,
        "evidence takes bounded memory while Postgres is away",
        "        if key not in self._counts and len(self._counts) >= ROWS_MAX:\n            return\n",
        "",
        f"{GUARD}::test_while_postgres_is_away_it_is_kept_and_bounded",
    ),
    refusals(
        Kind.CONDITION,
        "evidence that could not be written is written later",
        "            self._put_back(counts, addresses)\n",
        "            pass\n",
        f"{GUARD}::test_while_postgres_is_away_it_is_kept_and_bounded",
    ),
    rows(
        Kind.CONDITION,
        "of a range of evidence no minute is told that is not in it",
        "   AND minute < coalesce(%(until)s::timestamptz, 'infinity')\n",
        "   AND minute <= coalesce(%(until)s::timestamptz, 'infinity')\n",
        f"{REFUSED}::test_a_range_has_its_first_minute_and_not_its_last",
    ),
    rows(
        Kind.BOUND,
        "a row of evidence keeps a bounded number of addresses",
        " ORDER BY 2 DESC, 1 LIMIT {ADDRESSES_MAX})",
        " ORDER BY 2 DESC, 1)",
        f"{REFUSED}::test_a_row_keeps_the_addresses_with_most_refusals",
    ),
    keys(
        Kind.TOKEN,
        "a token of one kind is none of another",
        ' or head.get("typ") != kind',
        "",
        f"{TOKENS}::test_what_is_over_or_for_another_purpose_is_none",
    ),
    tokens(
        Kind.TOKEN,
        "only the admitted get tokens for other shops",
        "        if place is None or place.state is not PlaceState.ADMITTED:\n",
        "        if place is None:\n",
        f"{TOKENS}::test_only_who_is_admitted_and_has_begun_gets_one",
    ),
    tokens(
        Kind.TOKEN,
        "tokens are for shops that are named",
        '        if asked.rstrip("/") not in self._shops:\n',
        "        if not asked:\n",
        f"{TOKENS}::test_each_shop_has_its_own_and_others_none",
    ),
    joining(
        Kind.CONDITION,
        "who is called is written to where they last said",
        "        if told:\n",
        "        if False:\n",
        f"{TELLING}::test_who_joins_again_may_name_another_address_and_keeps_it_by_naming_none",
    ),
    admitting(
        Kind.COMMIT,
        "who is admitted is told by mail in the same transaction",
        "            write_mails(conn, ids)\n",
        "",
        f"{TELLING}::test_an_admission_writes_to_whom_it_admits",
    ),
    telling(
        Kind.CONDITION,
        "who left no address is written no mail",
        " AND email IS NOT NULL",
        "",
        f"{TELLING}::test_who_left_an_address_is_written_to_and_nobody_else",
    ),
    middleware(
        Kind.TOKEN,
        "a copied link does not let another browser into a shop",
        "        if token_id in self._kept:\n            return None\n",
        "",
        f"{MIDDLEWARE}::test_a_copied_link_or_cookie_does_not_let_another_browser_in",
    ),
    middleware(
        Kind.TOKEN,
        "a copied cookie does not let another browser into a shop",
        "return hmac.compare_digest(kept[0].encode(), secret.encode())",
        "return True",
        f"{MIDDLEWARE}::test_a_copied_link_or_cookie_does_not_let_another_browser_in",
    ),
    middleware(
        Kind.BOUND,
        "browsers that were let into a shop are remembered in bounded memory",
        "(len(self._kept) >= self._most or next(iter(self._kept.values()))[1] < now)",
        "next(iter(self._kept.values()))[1] < now",
        f"{MIDDLEWARE}::test_what_is_remembered_is_bounded_and_ends_with_the_tokens",
    ),
    middleware(
        Kind.ORIGIN,
        "a shop sends nobody elsewhere by a path with two slashes",
        'return self._origin + quote(scope["path"])',
        'return quote(scope["path"])',
        f"{MIDDLEWARE}::test_a_browser_without_one_is_sent_to_the_room_and_told_where_to_come_back",
    ),
    keyset(
        Kind.BOUND,
        "keys are fetched no oftener than allowed, whatever tokens name",
        "            if now - self._tried_at < FETCH_SECONDS_MIN:\n                return\n",
        "",
        f"{MIDDLEWARE}::test_keys_that_change_are_fetched_when_a_token_names_one_that_is_not_there",
    ),
    keyset(
        Kind.TOKEN,
        "an admission is for one event",
        'claims.get("event") != self._event or ',
        "",
        f"{MIDDLEWARE}::test_forged_expired_and_foreign_ones_are_refused",
    ),
    keyset(
        Kind.TOKEN,
        "an admission is by the issuer that a shop names",
        "                issuer=self._issuer,\n",
        "",
        f"{MIDDLEWARE}::test_forged_expired_and_foreign_ones_are_refused",
    ),
    keyset(
        Kind.TOKEN,
        "a token of another kind is no admission",
        'head.get("typ") != KIND or ',
        "",
        f"{MIDDLEWARE}::test_forged_expired_and_foreign_ones_are_refused",
    ),
]
