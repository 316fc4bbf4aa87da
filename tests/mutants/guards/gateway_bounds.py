"""Faults in the gateway's bounds and in the hub it writes through."""

from __future__ import annotations

from tests.mutants.mutant import In, Kind, Mutant

SOCKET = "tests/gateway/test_socket.py"
HUB = "tests/notifier/test_hub.py"
PROTOCOL_TEST = "tests/gateway/test_short_frames.py"
BOUNDS_TEST = "tests/gateway/test_bounds.py"
MANY = "tests/gateway/test_many_events.py"
posted = In("gateway/http_protocol.py")
socket = In("gateway/buyers/socket.py")
runtime = In("gateway/events.py")
loading = In("gateway/loading.py")
decode = In("gateway/buyers/decode.py")
hub = In("notifier/hub.py")

MUTANTS: list[Mutant] = [
    posted(
        Kind.BOUND,
        "a body is read no further than its bound",
        "        if len(body) > REQUEST_BYTES_MAX:\n            raise _TOO_LARGE",
        "        if len(body) > 1 << 40:\n            raise _TOO_LARGE",
        f"{BOUNDS_TEST}::test_a_body_that_is_too_large_is_not_read_to_its_end",
    ),
    decode(
        Kind.BOUND,
        "a frame has a bound",
        "    if len(text) > REQUEST_BYTES_MAX or (",
        "    if len(text) > 1 << 40 or (",
        f"{SOCKET}::test_a_frame_that_breaks_the_rules_is_refused_and_the_socket_stays",
    ),
    decode(
        Kind.BOUND,
        "a frame's bound counts bytes, not letters",
        " or (not text.isascii() and len(text.encode()) > REQUEST_BYTES_MAX):",
        ":",
        f"{BOUNDS_TEST}::test_a_frame_is_measured_in_bytes",
    ),
    In("gateway/app.py")(
        Kind.BOUND,
        "a frame that is far too large ends the connection",
        "ws_max_size=FRAME_BYTES_MAX,",
        "ws_max_size=1 << 30,",
        f"{SOCKET}::test_a_frame_that_is_far_too_large_ends_the_connection",
    ),
    socket(
        Kind.BOUND,
        "a gateway has few sockets",
        "if runtime.hub.full or runtime.stopping:",
        "if runtime.stopping:",
        f"{SOCKET}::test_a_socket_too_many_is_refused_before_it_is_accepted",
    ),
    socket(
        Kind.BOUND,
        "who says nothing is closed",
        "timer = loop.call_later(seconds, self._client.close, NO_HELLO",
        "timer = loop.call_later(seconds + 3600, self._client.close, NO_HELLO",
        f"{SOCKET}::test_who_says_nothing_is_closed",
    ),
    socket(
        Kind.BOUND,
        "who keeps asking over the bound is closed",
        "            if self._over_bound >= OVER_BOUND_MAX:\n",
        "            if False:\n",
        f"{SOCKET}::test_a_buyer_with_too_much_undecided_waits_for_decisions_first",
    ),
    socket(
        Kind.BOUND,
        "few keys of one socket are looked up at a time",
        "        if self._looked_up >= LOOKED_UP_MAX:\n",
        "        if self._looked_up >= 1 << 40:\n",
        f"{BOUNDS_TEST}::test_few_keys_of_one_socket_are_looked_up_at_a_time",
    ),
    socket(
        Kind.BOUND,
        "a key that was looked up counts no more",
        "            self._looked_up -= 1\n",
        "",
        f"{BOUNDS_TEST}::test_few_keys_of_one_socket_are_looked_up_at_a_time",
    ),
    socket(
        Kind.CONDITION,
        "a token that ran out ends the socket whatever it says",
        "            if isinstance(error, Unauthorized):\n",
        "            if False:\n",
        f"{SOCKET}::test_a_token_that_runs_out_ends_the_socket[release]",
    ),
    In("gateway/buyers/recall.py")(
        Kind.BOUND,
        "few look-ups wait at a time",
        "if len(self._asked) >= ASKING_MAX:",
        "if len(self._asked) > 1 << 40:",
        f"{BOUNDS_TEST}::test_a_look_up_too_many_is_told_to_come_back",
    ),
    In("gateway/runtime.py")(
        Kind.BOUND,
        "events that are followed leave connections to append",
        "connect_async(settings.engines.redis_url, connections_max=connections_max)",
        "connect_async(settings.engines.redis_url)",
        f"{MANY}::test_however_many_events_are_followed_appends_have_a_connection",
    ),
    loading(
        Kind.BOUND,
        "a gateway serves few events at a time",
        "        if len(self._loaded) + len(self._loading) < self._parts.settings.bounds.events_max:\n",
        "        if True:\n",
        f"{MANY}::test_the_event_that_was_unused_for_longest_makes_room_for_the_next",
    ),
    loading(
        Kind.BOUND,
        "the event that was unused for longest makes room",
        "        return sorted(unused, key=lambda event: event.used_at)\n",
        "        return unused\n",
        f"{MANY}::test_the_event_that_was_unused_for_longest_makes_room_for_the_next",
    ),
    loading(
        Kind.BOUND,
        "an event that nobody uses is let go",
        "            self.let_go_unused(UNUSED_SECONDS_MAX)\n",
        "            pass\n",
        f"{MANY}::test_an_event_that_nobody_uses_is_let_go_and_loaded_again_when_somebody_asks",
    ),
    loading(
        Kind.BOUND,
        "an event that is let go follows no more",
        "create_task(event.stop())",
        "create_task(asyncio.sleep(0))",
        f"{MANY}::test_an_event_that_nobody_uses_is_let_go_and_loaded_again_when_somebody_asks",
    ),
    loading(
        Kind.CONDITION,
        "an event that somebody asked for is not let go",
        "            found.used_at = time.monotonic()\n",
        "",
        f"{MANY}::test_an_event_that_somebody_asked_for_is_not_let_go",
    ),
    *[
        runtime(Kind.CONDITION, f"an event with {what} is not let go", part, new, f"{MANY}::{test}")
        for what, part, new, test in (
            ("a socket", "bool(self.clients or ", "bool(", "test_an_event_with_a_socket_is_not_let_go"),
            (
                "an undecided request",
                "self.intake.undecided or self.recall",
                "self.recall",
                "test_an_event_with_an_undecided_request_is_not_let_go",
            ),
            (
                "a look-up",
                "self.recall.asked or ",
                "",
                "test_an_event_whose_database_is_asked_for_somebody_is_not_let_go",
            ),
            (
                "a look at the waiting list",
                " or self.waiters.asked\n",
                "\n",
                "test_an_event_whose_database_is_asked_for_somebody_is_not_let_go",
            ),
        )
    ],
    hub(
        Kind.BOUND,
        "a slow reader is closed",
        '        self._hub.slow_closed += 1\n        self.close(SLOW, "reading too slowly")\n',
        "        self._hub.slow_closed += 1\n",
        f"{HUB}::test_a_slow_reader_is_closed_and_told_why_once_it_reads",
    ),
    hub(
        Kind.BOUND,
        "a message is written at once or not at all",
        "    coroutine.close()\n    return False\n",
        "    asyncio.get_running_loop().create_task(send(message))\n    return True\n",
        f"{HUB}::test_a_message_is_written_at_once_or_not_at_all",
        f"{HUB}::test_a_slow_reader_of_uvicorn_is_closed_without_delaying_the_others",
    ),
    hub(
        Kind.BOUND,
        "a reader that never reads is dropped",
        "            async with asyncio.timeout(FAREWELL_SECONDS_MAX):\n",
        "            async with asyncio.timeout(None):\n",
        f"{HUB}::test_a_reader_that_never_reads_is_dropped",
    ),
    hub(
        Kind.BOUND,
        "few farewells at a time",
        "        if len(self._farewells) >= FAREWELLS_MAX:\n",
        "        if False:\n",
        f"{PROTOCOL_TEST}::test_of_too_many_slow_readers_one_is_dropped_without_a_word",
    ),
    In("gateway/protocol.py")(
        Kind.BOUND,
        "a frame is not written above the high-water mark",
        "        if not self.writable.is_set():\n            return False\n",
        "",
        f"{PROTOCOL_TEST}::test_a_slow_reader_is_closed_when_frames_go_the_short_way",
    ),
    In("gateway/protocol.py")(
        Kind.BOUND,
        "nothing is written to a connection that is closing",
        "        if self.disconnected or self.close_sent or self.conn.state is not OPEN:\n"
        "            raise ClientDisconnected\n",
        "",
        f"{PROTOCOL_TEST}::test_nothing_follows_a_close_frame",
    ),
    In("gateway/protocol.py")(
        Kind.BOUND,
        "a client that sends faster than it is heard is read no further",
        "        if not self.read_paused and self.queue.qsize() >= QUEUED_MAX:\n",
        "        if False:\n",
        f"{PROTOCOL_TEST}::test_a_client_that_sends_while_nobody_listens_is_read_no_further",
    ),
]
