"""Faults in HTTP: a POST's way to its answer, the short way it takes, and the bounds around both."""

from __future__ import annotations

from tests.mutants.mutant import In, Kind, Mutant

HTTP = "tests/gateway/test_http.py"
SHORT = "tests/gateway/test_http_protocol.py"
BOUNDS = "tests/gateway/test_protocol.py"
GUARDS = "tests/gateway/test_http_guards.py"
TURNS = "tests/gateway/test_turns.py"
BOTH_WAYS = f"{SHORT}::test_both_ways_give_the_same_answer"
PIPELINED = f"{SHORT}::test_pipelined_requests_are_answered_in_order_by_whichever_way"
STOPS = f"{SHORT}::test_a_gateway_that_stops_answers_first_and_says_that_the_connection_ends"
TOO_LARGE = f"{SHORT}::test_a_body_that_is_too_large_ends_the_connection_before_it_is_read"
SLOW = f"{BOUNDS}::test_a_request_that_does_not_become_whole_is_given_up"
posting = In("gateway/buyers/posting.py")
short = In("gateway/http_protocol.py")
bounds = In("gateway/http_bounds.py")
protocol = In("gateway/protocol.py")
turns = In("gateway/turns.py")

POSTING = [
    posting(
        Kind.DEDUPE,
        "over HTTP the ledger is asked before anything is appended",
        "            event.recall.ask(buyer.id, self._key, self._recalled)\n",
        "            self._recalled(None, None)\n",
        f"{HTTP}::test_a_key_with_other_content_is_refused",
        f"{HTTP}::test_the_gate_never_answers_for_a_key_that_was_decided",
    ),
    posting(
        Kind.GATE,
        "over HTTP a key that came under way meanwhile does not meet the gate",
        "if self._gone and first and event.intake.find(self._buyer, self._key) is None:",
        "if self._gone and first:",
        f"{GUARDS}::test_a_key_that_came_under_way_while_the_ledger_was_asked_does_not_meet_the_gate",
    ),
    posting(
        Kind.GATE,
        "over HTTP requests are taken while the event sells",
        "            event.must_sell()\n",
        "",
        f"{GUARDS}::test_an_event_that_is_closed_takes_no_requests",
    ),
    posting(
        Kind.BOUND,
        "a wait for a decision ends",
        "call_later(seconds, self._time_is_over)",
        "call_later(seconds + 3600, self._time_is_over)",
        f"{SHORT}::test_a_wait_ends_with_the_arrival",
    ),
    posting(
        Kind.BOUND,
        "nobody waits longer than the longest wait",
        "return min(int(found[1]), WAIT_SECONDS_MAX) if found",
        "return int(found[1]) if found",
        f"{GUARDS}::test_a_longer_wait_than_the_longest_is_the_longest",
    ),
    posting(
        Kind.ASK_AGAIN,
        "who waits for a decision is not answered with the arrival",
        "        if self.prompt:\n            self._found(arrival",
        "        if True:\n            self._found(arrival",
        f"{SHORT}::test_a_decision_comes_with_the_answer_where_the_client_prefers_to_wait",
        more=(("        self.prompt = not self._wait_seconds\n", "        self.prompt = True\n"),),
    ),
    posting(
        Kind.ASK_AGAIN,
        "a POST is answered once",
        "answer, self._answer = self._answer, None",
        "answer = self._answer",
        f"{GUARDS}::test_a_post_is_answered_once",
    ),
]

SHORT_WAY = [
    short(
        Kind.INTAKE_ORDER,
        "a request behind one that is not answered goes the stock way",
        "            and (cycle is None or cycle.response_complete)\n",
        "",
        PIPELINED,
    ),
    short(
        Kind.BOUND,
        "a connection its client wants closed goes the stock way",
        "            and self.parser.should_keep_alive()\n",
        "",
        BOTH_WAYS,
    ),
    short(
        Kind.BOUND,
        "who waits for a go-ahead goes the stock way and gets it",
        "            and not self.expect_100_continue\n",
        "",
        f"{GUARDS}::test_who_waits_for_a_go_ahead_gets_it",
    ),
    short(
        Kind.BOUND,
        "an older client's connection ends with its answer",
        '            and self.parser.get_http_version() == "1.1"\n',
        "",
        f"{GUARDS}::test_an_older_client_has_its_answer_when_the_connection_ends",
    ),
    short(
        Kind.BOUND,
        "who does not read the answers goes the stock way and is read no further",
        "            and not self.flow.write_paused\n",
        "",
        f"{GUARDS}::test_who_does_not_read_the_answers_to_posts_is_read_no_further",
    ),
    short(
        Kind.BOUND,
        "on the short way a body is read no further than its bound",
        "            if len(cycle.body) > cycle.bytes_max:\n",
        "            if len(cycle.body) > 1 << 40:\n",
        TOO_LARGE,
    ),
    short(
        Kind.BOUND,
        "the rest of a body that is too large is not read",
        "                cycle.keep_alive = False  # nobody reads the rest\n",
        "",
        TOO_LARGE,
    ),
    short(
        Kind.BOUND,
        "on the short way the last answer says that the connection ends",
        '            lines.append(b"connection: close\\r\\n")\n',
        "            pass\n",
        STOPS,
    ),
    short(
        Kind.BOUND,
        "on the short way a connection ends after its last answer",
        "            protocol.transport.close()\n",
        "            pass\n",
        f"{GUARDS}::test_a_connection_ends_with_its_last_answer_and_not_when_it_was_idle",
    ),
    short(
        Kind.BOUND,
        "an answer on the short way begins the connection's idle time",
        "        protocol.on_response_complete()\n",
        "        protocol.server_state.total_requests += 1\n",
        f"{GUARDS}::test_a_connection_that_is_idle_after_the_short_way_is_closed",
    ),
    short(
        Kind.BOUND,
        "an answer within one read leaves no timer for the next request",
        "        self._unset_keepalive_if_required()  # an answer",
        "        pass  # an answer",
        f"{SHORT}::test_an_answer_within_one_read_leaves_no_timer_that_ends_the_next_request",
    ),
    short(
        Kind.BOUND,
        "clients over HTTP have the clients' turn",
        "        turns.enter(transport)\n",
        "",
        f"{GUARDS}::test_clients_are_in_the_clients_queue_for_as_long_as_they_are_connected",
    ),
    short(
        Kind.BOUND,
        "a client over HTTP that left is no client any more",
        "        turns.leave(self.transport)\n",
        "",
        f"{GUARDS}::test_clients_are_in_the_clients_queue_for_as_long_as_they_are_connected",
    ),
    protocol(
        Kind.BOUND,
        "a client on a socket that left is no client any more",
        "        turns.leave(self.transport)\n",
        "",
        f"{GUARDS}::test_clients_are_in_the_clients_queue_for_as_long_as_they_are_connected",
    ),
]

BEFORE_IT_IS_ONE = [
    bounds(
        Kind.BOUND,
        "a head has a bound",
        "            if self._head_bytes > HEAD_BYTES_MAX:\n",
        "            if False:\n",
        f"{BOUNDS}::test_a_head_without_end_is_refused",
        f"{BOUNDS}::test_an_address_without_end_is_refused",
    ),
    bounds(
        Kind.BOUND,
        "a head's bound is for one head",
        "= True, False, 0\n",
        "= True, False, self._head_bytes\n",
        f"{GUARDS}::test_heads_that_come_in_pieces_on_one_connection_are_not_added_up",
    ),
    bounds(
        Kind.BOUND,
        "requests that are whole do not count to the head behind them",
        "len(data) if self.headers is headers else self._begun_in(data)",
        "len(data)",
        f"{GUARDS}::test_requests_that_are_whole_do_not_count_to_the_head_behind_them",
    ),
    bounds(
        Kind.BOUND,
        "the body before a head does not count to it",
        "        return max(0, len(rest) - sum(lengths))\n",
        "        return len(rest)\n",
        f"{GUARDS}::test_requests_that_are_whole_do_not_count_to_the_head_behind_them",
    ),
    bounds(
        Kind.BOUND,
        "a head counts from where it began in a read",
        "        return max(0, len(rest) - sum(lengths))\n",
        "        return 0\n",
        f"{GUARDS}::test_a_head_without_end_behind_a_whole_request_is_refused",
    ),
    bounds(
        Kind.BOUND,
        "a connection is read no further while requests of it wait",
        "        self.flow = _TurnByTurn(transport, self.pipeline)\n",
        "",
        f"{GUARDS}::test_a_connection_is_read_no_further_while_requests_of_it_wait_for_their_turn",
    ),
    bounds(
        Kind.BOUND,
        "a body does not count as its head",
        "        self._head_open = False\n        self.begin_request()\n",
        "        self.begin_request()\n",
        f"{GUARDS}::test_a_long_body_in_pieces_is_not_a_long_head",
    ),
    bounds(
        Kind.BOUND,
        "a request is whole in time",
        "call_later(REQUEST_SECONDS_MAX, self._too_slow)",
        "call_later(REQUEST_SECONDS_MAX + 3600, self._too_slow)",
        SLOW,
    ),
    bounds(
        Kind.BOUND,
        "a new connection says something in time",
        "        self.flow = _TurnByTurn(transport, self.pipeline)\n        self._expect_the_rest()\n",
        "        self.flow = _TurnByTurn(transport, self.pipeline)\n",
        SLOW,
    ),
    bounds(
        Kind.BOUND,
        "a request that is whole is not given up",
        "        self._whole = True\n",
        "",
        f"{SHORT}::test_a_request_that_is_whole_has_all_the_time_it_prefers",
        f"{BOUNDS}::test_a_connection_that_is_kept_waits_as_long_as_before",
    ),
    bounds(
        Kind.BOUND,
        "a slow request does not take an answer's place",
        "        if self._answer_owed():  #",
        "        if False:  #",
        f"{GUARDS}::test_a_slow_request_does_not_take_the_place_of_an_answer_that_is_owed",
        more=(("        if silent and not self._answer_owed():\n", "        if silent:\n"),),
    ),
    In("gateway/bodies.py")(
        Kind.BOUND,
        "other calls' bodies have a bound",
        "            if read > bytes_max:\n",
        "            if False:\n",
        f"{BOUNDS}::test_a_body_larger_than_any_call_takes_is_refused_and_not_kept",
    ),
    protocol(
        Kind.BOUND,
        "a message has few fragments",
        "        if len(self.frames) >= FRAGMENTS_MAX:",
        "        if len(self.frames) >= 1 << 40:",
        f"{BOUNDS}::test_fragments_of_a_message_have_a_bound",
    ),
    protocol(
        Kind.BOUND,
        "pings of who does not read are not answered",
        "        if self.writable.is_set():\n            self.transport.write(answer)",
        "        if self.transport:\n            self.transport.write(answer)",
        f"{BOUNDS}::test_pings_of_who_does_not_read_are_not_answered_for_ever",
    ),
    protocol(
        Kind.BOUND,
        "a handshake that cannot be read ends its connection",
        "        if not self.handshake_initiated:\n",
        "        if False:\n",
        f"{BOUNDS}::test_a_handshake_that_cannot_be_read_is_answered_and_forgotten",
    ),
]

TURN = [
    turns(
        Kind.BOUND,
        "few clients are read in one turn",
        "self._clients.poll(0, CLIENTS_A_TURN)",
        "self._clients.poll(0, -1)",
        f"{TURNS}::test_readable_clients_share_the_loop_with_everything_else",
    ),
    turns(
        Kind.BOUND,
        "our own connections are read before clients",
        "return found + self._clients.poll(0, CLIENTS_A_TURN)",
        "return self._clients.poll(0, CLIENTS_A_TURN) + found",
        f"{TURNS}::test_our_own_connections_are_read_before_clients_that_wait_longer",
    ),
    turns(
        Kind.BOUND,
        "clients have a queue of their own",
        "queue = self._clients if fd in self.client_fds else self._own",
        "queue = self._own",
        f"{TURNS}::test_readable_clients_share_the_loop_with_everything_else",
    ),
    turns(
        Kind.BOUND,
        "a socket is taken out of the queue it was put in",
        "self._queue_of.pop(fd).unregister(fd)",
        "(self._clients if fd in self.client_fds else self._own).unregister(fd)",
        f"{TURNS}::test_a_socket_that_was_taken_out_is_not_reported",
    ),
]

MUTANTS: list[Mutant] = [*POSTING, *SHORT_WAY, *BEFORE_IT_IS_ONE, *TURN]
