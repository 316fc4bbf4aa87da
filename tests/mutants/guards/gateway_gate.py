"""Faults in the fast gate, and in who may ask at all."""

from __future__ import annotations

from tests.mutants.mutant import In, Kind, Mutant

GATE_TEST = "tests/gateway/test_gate.py"
HTTP = "tests/gateway/test_http.py"
SOCKET = "tests/gateway/test_socket.py"
TOKENS_TEST = "tests/gateway/test_tokens.py"
GATE_ASKED = "tests/gateway/test_gate_asked.py"
WHO_ASKS = "tests/gateway/test_who_asks.py"
REFUSABLE = (
    f"{GATE_TEST}::"
    "test_only_a_first_attempt_with_nothing_else_wished_by_a_buyer_with_nothing_undecided_is_looked_at"
)
GONE = f"{GATE_TEST}::test_seats_that_are_sold_blocked_or_held_well_beyond_now_are_gone"
gate = In("gateway/gate.py")
posted = In("gateway/buyers/posting.py")
socket = In("gateway/buyers/socket.py")
runtime = In("gateway/events.py")
tokens = In("gateway/buyers/tokens.py")
NOT_VALID = f"{TOKENS_TEST}::test_any_other_token_is_refused"

GATE = [
    *[
        gate(Kind.GATE, f"the gate looks only {what}", f" and {condition}", "", REFUSABLE)
        for what, condition in (
            ("at a first attempt", "not again"),
            ("at a buyer with nothing undecided", "not undecided"),
            ("where nobody would wait", "not want.waitlist"),
            ("where no hold is moved", "want.move is UNSET"),
            ("where there is no fallback", "not want.fallbacks"),
            ("where fewer would not do", "not want.up_to"),
        )
    ],
    gate(
        Kind.GATE,
        "a free seat is not gone",
        "            if letter == AVAILABLE:\n                continue\n",
        "",
        GONE,
    ),
    gate(
        Kind.GATE,
        "a hold that ends soon does not make a seat gone",
        "self.held_until[no] > now_us + HELD_BEYOND_NOW_US",
        "self.held_until[no] > now_us",
        GONE,
    ),
    gate(
        Kind.GATE,
        "a seat nobody knows is left to the decision",
        "            if no is None:\n                continue\n",
        "            if no is None:\n                gone.append(name)\n                continue\n",
        f"{GATE_TEST}::test_a_seat_nobody_knows_is_left_to_the_decision",
    ),
    gate(
        Kind.GATE,
        "a seat freed and taken in one batch is held",
        """        stock.turn(delta.freed, AVAILABLE)
        stock.turn(delta.sold, SOLD)
        stock.turn(delta.blocked, BLOCKED)
        stock.hold(delta.held)
""",
        """        stock.hold(delta.held)
        stock.turn(delta.freed, AVAILABLE)
        stock.turn(delta.sold, SOLD)
        stock.turn(delta.blocked, BLOCKED)
""",
        f"{GATE_TEST}::test_a_batch_changes_the_map_in_its_own_order",
    ),
    runtime(
        Kind.GATE,
        "the gate has a switch",
        "if not self.row.fast_gate or not self.following",
        "if not self.following",
        f"{HTTP}::test_the_gate_has_a_switch",
    ),
    runtime(
        Kind.GATE,
        "the gate is open to all while nobody tells what changes",
        "if not self.row.fast_gate or not self.following or self._reloading",
        "if not self.row.fast_gate or self._reloading",
        f"{GATE_ASKED}::test_a_gateway_that_cannot_know_refuses_nobody",
    ),
    runtime(
        Kind.GATE,
        "the gate is open to all while the map is read",
        " or self._reloading is not None:\n            return None",
        ":\n            return None",
        f"{GATE_ASKED}::test_a_gateway_that_cannot_know_refuses_nobody",
    ),
    runtime(
        Kind.GATE,
        "a map with a gap is read anew",
        "        if delta.batch_no != known + 1:  #",
        "        if delta.batch_no == 0:  #",
        f"{SOCKET}::test_a_gap_in_batches_is_closed_from_the_truth",
    ),
    runtime(
        Kind.GATE,
        "a change that the map shows already is not made twice",
        "        if 0 < delta.batch_no <= known:\n            return\n",
        "        if 0 < delta.batch_no <= known:\n            self.seats.apply(delta)\n            return\n",
        f"{GATE_ASKED}::test_a_change_that_is_older_than_the_map_changes_nothing",
    ),
    runtime(
        Kind.GATE,
        "changes that come while the map is read are not lost",
        "            self._held_back.append(delta)\n",
        "",
        f"{GATE_ASKED}::test_a_change_that_comes_while_the_map_is_read_is_made_after_it",
    ),
    socket(
        Kind.GATE,
        "on a socket the gate looks only at a buyer with nothing undecided",
        "refusable(want, again=False, undecided=event.intake.undecided_of(buyer))",
        "refusable(want, again=False, undecided=0)",
        f"{GATE_ASKED}::test_who_has_something_undecided_is_queued",
    ),
    socket(
        Kind.GATE,
        "what is asked again on a socket does not meet the gate",
        "        if frame.again:\n",
        "        if False:\n",
        f"{HTTP}::test_the_gate_refuses_both_ways_in_and_uses_no_place",
    ),
    posted(
        Kind.GATE,
        "over HTTP the gate looks only at a buyer with nothing undecided",
        "undecided=event.intake.undecided_of(buyer.id)",
        "undecided=0",
        f"{GATE_ASKED}::test_who_has_something_undecided_is_queued",
    ),
    posted(
        Kind.GATE,
        "the gate is believed after the ledger",
        "        if event.intake.find(buyer.id, self._key) is None:\n            event.recall",
        "        if self._gone:\n            self._recalled(None, None)\n"
        "        elif event.intake.find(buyer.id, self._key) is None:\n            event.recall",
        f"{HTTP}::test_the_gate_never_answers_for_a_key_that_was_decided",
    ),
    posted(
        Kind.GATE,
        "without the ledger the gate is not believed",
        "            first = error is None\n",
        "            first = True\n",
        f"{GATE_ASKED}::test_without_the_ledger_nobody_is_refused_at_the_gate",
    ),
]

WHO = [
    tokens(
        Kind.TOKEN,
        "a token's signature is verified",
        'options={"require": list(required),',
        'options={"verify_signature": False, "verify_exp": True, "require": list(required),',
        f"{NOT_VALID}[another secret]",
    ),
    tokens(
        Kind.TOKEN,
        "a token that ran out is refused",
        "leeway=LEEWAY_SECONDS,",
        "leeway=1 << 30,",
        f"{NOT_VALID}[run out]",
    ),
    tokens(
        Kind.TOKEN,
        "a token has an end",
        'BUYERS = ("exp", "sub")',
        'BUYERS = ("sub",)',
        f"{TOKENS_TEST}::test_any_other_token_is_refused[no end]",
        more=(('float(claims["exp"])', 'float(claims.get("exp", 1 << 40))'),),
    ),
    tokens(
        Kind.TOKEN,
        "a buyer's id has no character that frames cannot carry",
        '        if not subject_ok(claims["sub"]):\n',
        "        if False:\n",
        f"{NOT_VALID}",
    ),
    tokens(
        Kind.TOKEN,
        "an audience is demanded where one is set",
        '"verify_aud": self._audience is not None',
        '"verify_aud": False',
        f"{TOKENS_TEST}::test_an_audience_is_demanded_where_one_is_set",
    ),
    tokens(
        Kind.TOKEN,
        "a verified token is forgotten when it runs out",
        "if buyer is not None and buyer.expires_at <= self._clock():",
        "if buyer is not None and buyer.expires_at <= 0:",
        f"{TOKENS_TEST}::test_a_verified_token_is_kept_until_it_runs_out",
    ),
    tokens(
        Kind.TOKEN,
        "an issuer is not asked for every unknown key",
        "            if now - self._tried_at < KEYS_FETCH_SECONDS_MIN:\n                return\n",
        "",
        f"{TOKENS_TEST}::test_an_issuer_is_not_asked_again_for_every_unknown_key",
    ),
    socket(
        Kind.TOKEN,
        "a request needs a token that still runs",
        "        if self._buyer.expires_at <= time.time():\n            self._check_token()\n",
        "",
        f"{SOCKET}::test_a_token_that_runs_out_ends_the_socket",
    ),
    socket(
        Kind.TOKEN,
        "a hold is changed only with a token that still runs",
        "        try:\n            self._check_token()\n            if isinstance(frame, Leave)",
        "        try:\n            if isinstance(frame, Leave)",
        f"{WHO_ASKS}::test_a_hold_is_not_changed_with_a_token_that_ran_out",
    ),
    socket(
        Kind.ORIGIN,
        "browsers connect from allowed origins only",
        "if not runtime.origin_allowed(*request_headers(scope)):",
        "if False:",
        f"{SOCKET}::test_browsers_may_connect_from_allowed_origins_only",
    ),
    In("gateway/runtime.py")(
        Kind.ORIGIN,
        "an origin that is not listed is this one's own",
        'return origin.partition("://")[2] == host != ""',
        'return origin.partition("://")[2].startswith(host.partition(":")[0])',
        f"{WHO_ASKS}::test_an_origin_is_this_ones_own_only_with_its_port_and_whole_name",
    ),
    posted(
        Kind.ORIGIN,
        "only listed origins may read answers",
        '                if value.decode("latin-1") in self._runtime.settings.origins:\n',
        "                if value:\n",
        f"{HTTP}::test_browsers_of_listed_origins_may_read_answers",
    ),
]

MUTANTS: list[Mutant] = [*GATE, *WHO]
