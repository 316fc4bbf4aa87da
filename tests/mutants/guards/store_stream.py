"""Faults in the log of arrivals."""

from __future__ import annotations

from tests.mutants.mutant import In, Kind, Mutant

STREAM_TEST = "tests/store/test_stream_conformance.py"
FIRST_ARRIVALS = "tests/store/test_replicas.py"
stream = In("store/stream/redis_stream.py")
LOST_ONCE = f"{STREAM_TEST}::test_an_append_whose_reply_is_lost_is_unknown_and_is_in_the_stream_once"
MISSING = (
    f"{STREAM_TEST}::test_a_missing_stream_refuses_every_entry_and_is_not_created_by_an_append_or_a_poke"
)

MUTANTS: list[Mutant] = [
    stream(
        Kind.STREAM,
        "an append does not create a lost stream",
        "redis.call('XADD', KEYS[1], 'NOMKSTREAM', '*', 'r', entry)",
        "redis.call('XADD', KEYS[1], '*', 'r', entry)",
        MISSING,
        f"{STREAM_TEST}::test_a_stream_lost_while_a_gateway_is_connected_refuses_instead_of_beginning_anew",
    ),
    stream(
        Kind.STREAM,
        "a poke does not create a lost stream",
        'await self._client.xadd(self._key, {POKE: b"1"}, nomkstream=True)',
        'await self._client.xadd(self._key, {POKE: b"1"})',
        MISSING,
    ),
    In("store/stream/wake.py")(
        Kind.STREAM,
        "an operator's poke does not create a lost stream",
        '{POKE: b"1"}, nomkstream=True)',
        '{POKE: b"1"})',
        f"{STREAM_TEST}::test_anyone_can_wake_an_event_and_see_how_far_it_is_behind",
    ),
    stream(
        Kind.STREAM,
        "a gateway's append whose reply is lost is unknown and not sent again",
        "        except LOST as error:\n            raise OutcomeUnknown from error\n\n    async def _append",
        "        except LOST:\n            return _arrivals(await self._append(entries))\n\n"
        "    async def _append",
        LOST_ONCE,
    ),
    stream(
        Kind.STREAM,
        "a gateway's client never retries by itself",
        '"retry": AsyncRetry(NoBackoff(), 0)',
        '"retry": AsyncRetry(NoBackoff(), 3)',
        LOST_ONCE,
    ),
    stream(
        Kind.STREAM,
        "the allocator's client never retries by itself",
        '"retry": Retry(NoBackoff(), 0)',
        '"retry": Retry(NoBackoff(), 3)',
        f"{STREAM_TEST}::test_the_allocators_append_whose_reply_is_lost_is_unknown_and_is_in_the_stream_once",
    ),
    stream(
        Kind.STREAM,
        "accepted waits for the replicas' disks",
        "        if isinstance(synced, Exception) or synced[1] < self._replicas:\n"
        "            raise OutcomeUnknown",
        "        assert synced",
        f"{FIRST_ARRIVALS}::test_an_append_that_too_few_replicas_have_on_disk_is_unknown",
    ),
    stream(
        Kind.STREAM,
        "what replicas have on disk is not known when they cannot be asked",
        "        if isinstance(reply, Exception):\n            raise reply\n",
        "        for answer in (reply, synced):\n"
        "            if isinstance(answer, Exception):\n                raise answer\n",
        f"{FIRST_ARRIVALS}::test_an_append_whose_replicas_cannot_be_asked_is_unknown_not_refused",
    ),
    stream(
        Kind.STREAM,
        "a gateway makes a lost stream above what is known",
        '{CREATED: b"1"}, id=arrival_after(above))',
        '{CREATED: b"1"})',
        f"{STREAM_TEST}::test_creating_puts_a_marker_just_above_the_cursor_and_new_ids_are_above_it",
    ),
    stream(
        Kind.STREAM,
        "a stream made anew begins with a marker",
        'arrival_after(cursor), CREATED, b"1")',
        'arrival_after(cursor), POKE, b"1")',
        f"{STREAM_TEST}::test_a_missing_stream_is_made_above_the_cursor_with_a_marker",
    ),
    stream(
        Kind.STREAM,
        "a stream behind the cursor is moved above it",
        "            if arrival_order(last) >= arrival_order(cursor):\n                return False\n",
        "            return False\n",
        f"{STREAM_TEST}::test_a_stream_behind_the_cursor_is_moved_forward_and_keeps_what_it_has",
    ),
    stream(
        Kind.STREAM,
        "trimming leaves what is above",
        "redis.call('XTRIM', KEYS[1], 'MINID', ARGV[2])",
        "redis.call('XTRIM', KEYS[1], 'MAXLEN', 0)",
        f"{STREAM_TEST}::test_trimming_forgets_what_is_through_and_leaves_what_is_above",
    ),
    stream(
        Kind.STREAM,
        "publishing trims only what is decided",
        "pipeline.eval(TRIM, 1, self._key, after, kept, *(seen or (trim_through,)))",
        "pipeline.xtrim(self._key, maxlen=0, approximate=False)",
        "tests/allocator/test_loop.py::test_a_backlog_is_decided_in_full_batches_in_order_and_each_request_once",
    ),
    stream(
        Kind.STREAM,
        "nothing is trimmed when the newest that was read is gone",
        "  if #redis.call('XRANGE', KEYS[1], ARGV[i], ARGV[i]) == 0 then return 0 end\n",
        "",
        "tests/allocator/test_trimming.py::test_what_came_below_a_batch_after_it_was_read_is_decided_too",
    ),
    stream(
        Kind.STREAM,
        "nothing is trimmed when something is where reading began",
        "if #redis.call('XRANGE', KEYS[1], '-', ARGV[1], 'COUNT', 1) > 0 then return 0 end\n",
        "",
        "tests/allocator/test_trimming.py::test_what_came_below_the_cursor_before_more_was_read_is_decided_too",
    ),
    stream(
        Kind.STREAM,
        "replicas' disks are asked about on the connection that appended",
        '        both.execute_command("WAITAOF", 1, self._replicas, SYNC_MS_MAX)\n'
        "        reply, synced = await both.execute(raise_on_error=False)\n",
        "        (reply,) = await both.execute(raise_on_error=False)\n"
        '        synced = await self._client.execute_command("WAITAOF", 1, self._replicas, SYNC_MS_MAX)\n',
        f"{FIRST_ARRIVALS}::test_an_append_that_enough_replicas_have_on_disk_is_accepted",
    ),
    In("gateway/settings.py")(
        Kind.STREAM,
        "where replicas can be promoted accepted waits for them",
        "        if self.stream_replicas == 0 and read_address(",
        "        if self.stream_replicas < 0 and read_address(",
        "tests/gateway/test_tokens.py::test_settings_that_cannot_work_are_refused_with_what_to_do",
    ),
    In("store/wire.py")(
        Kind.STREAM,
        "arrivals are ordered as numbers, not as text",
        "    return int(milliseconds), int(sequence or 0)\n",
        "    return int(milliseconds), int((sequence or '0')[0])\n",
        "tests/allocator/test_intake.py::test_what_the_stream_lost_goes_first_by_the_arrival_that_was_acknowledged",
    ),
    stream(
        Kind.STREAM,
        "a server that does not know a script that was just told appended nothing",
        "refusals = (OutOfMemoryError, ReadOnlyError, NoScriptError)",
        "refusals = (OutOfMemoryError, ReadOnlyError)",
        "tests/store/test_stream_refusals.py::"
        "test_a_server_in_the_place_of_the_one_that_was_told_the_script_appended_nothing",
    ),
]
