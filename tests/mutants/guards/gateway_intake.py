"""Faults in the way into the stream, and in asking again."""

from __future__ import annotations

from tests.mutants.mutant import In, Kind, Mutant

HTTP = "tests/gateway/test_http.py"
INTAKE_TEST = "tests/gateway/test_intake.py"
LOST = "tests/gateway/test_lost.py"
SOCKET = "tests/gateway/test_socket.py"
BOUNDS_TEST = "tests/gateway/test_bounds.py"
ORDER_AGAIN = "tests/gateway/test_order_again.py"
posted = In("gateway/buyers/posting.py")
socket = In("gateway/buyers/socket.py")
intake = In("gateway/buyers/intake.py")
WHO_WAITS = "tests/gateway/test_who_waits.py"
REQUEUED = f"{INTAKE_TEST}::test_a_missing_stream_is_made_above_all_that_is_known_and_gets_the_accepted_first"
reask = In("gateway/buyers/reask.py")
WAS_LOST = f"{INTAKE_TEST}::test_an_entry_is_lost_when_the_cursor_passed_it_or_the_stream_ends_below_it"

INTAKE = [
    intake(
        Kind.INTAKE_ORDER,
        "an append waits for those who come in the same moment",
        "                await asyncio.sleep(max(0.0, started + GROUP_SECONDS_MIN - time.monotonic()))\n",
        "",
        f"{INTAKE_TEST}::test_who_comes_first_goes_at_once_and_who_comes_soon_after_shares_the_next",
    ),
    intake(
        Kind.INTAKE_ORDER,
        "what is asked again goes before what is new",
        "for waiting in (self._again, self._queue):",
        "for waiting in (self._queue, self._again):",
        f"{ORDER_AGAIN}::test_what_got_no_reply_goes_again_in_its_order_before_what_is_new",
    ),
    intake(
        Kind.INTAKE_ORDER,
        "a group keeps its order when it goes again",
        "self._again.extendleft(reversed(group))",
        "self._again.extendleft(group)",
        f"{ORDER_AGAIN}::test_what_got_no_reply_goes_again_in_its_order_before_what_is_new",
    ),
    intake(
        Kind.INTAKE_ORDER,
        "what is asked again goes in the order of first arrivals",
        "        again.sort(key=lambda pending: (arrival_order(pending.first_arrival), pending.number))\n",
        "",
        f"{ORDER_AGAIN}::test_what_is_asked_again_goes_in_the_order_it_first_had",
    ),
    intake(
        Kind.INTAKE_ORDER,
        "after a loss the accepted go first",
        "(known if pending.arrival else unsure if pending.sent else fresh).append(pending)",
        "fresh.append(pending)",
        f"{ORDER_AGAIN}::test_after_a_loss_the_accepted_go_before_who_came_earlier_and_was_never_answered",
    ),
    intake(
        Kind.INTAKE_ORDER,
        "a request's first arrival is kept",
        "            if pending.first_arrival:\n                again += 1\n            else:\n"
        "                pending.first_arrival = arrival\n",
        "            pending.first_arrival = arrival\n",
        f"{INTAKE_TEST}::test_everything_undecided_can_be_asked_again_and_keeps_its_first_arrival",
    ),
    intake(
        Kind.INTAKE_ORDER,
        "what got no reply goes again",
        "            self._again.extendleft(reversed(group))\n",
        "",
        f"{ORDER_AGAIN}::test_what_got_no_reply_goes_again_in_its_order_before_what_is_new",
    ),
    intake(
        Kind.STREAM,
        "a gateway makes a lost stream above the cursor",
        "above = max(await self._cursor(), self._largest, key=arrival_order)",
        "above = self._largest",
        f"{INTAKE_TEST}::test_a_new_stream_stands_above_the_cursor_even_when_this_gateway_saw_less",
    ),
    intake(
        Kind.STREAM,
        "a gateway makes a lost stream above all that it was told",
        "above = max(await self._cursor(), self._largest, key=arrival_order)",
        "above = await self._cursor()",
        REQUEUED,
    ),
    intake(
        Kind.STREAM,
        "after a loss all that was accepted is asked again",
        "            await self._until(self._create)\n            self._requeue()\n",
        "            await self._until(self._create)\n",
        REQUEUED,
    ),
    intake(
        Kind.DEDUPE,
        "other content under a key that is under way is refused",
        "        if pending.want != want:\n            raise KeyReused\n",
        "",
        f"{INTAKE_TEST}::test_a_key_under_way_is_joined_and_refused_with_other_content",
        f"{SOCKET}::test_another_content_while_the_first_is_undecided_is_refused",
    ),
    intake(
        Kind.DEDUPE,
        "a key that is under way is joined, not queued twice",
        "            if pending is not None:\n                return self._join(pending, want, waiter)\n",
        "",
        f"{INTAKE_TEST}::test_a_key_under_way_is_joined_and_refused_with_other_content",
    ),
    intake(
        Kind.ASK_AGAIN,
        "a decision is delivered once",
        "                self._forget(pending)\n                for waiter",
        "                for waiter",
        f"{INTAKE_TEST}::test_a_key_under_way_is_joined_and_refused_with_other_content",
    ),
    intake(
        Kind.BOUND,
        "a buyer has few undecided requests at a time",
        "if len(mine) >= self._bounds.undecided_per_buyer_max:",
        "if len(mine) >= 1_000_000:",
        f"{INTAKE_TEST}::test_a_buyers_bound_counts_what_is_undecided_only",
        f"{SOCKET}::test_a_buyer_with_too_much_undecided_waits_for_decisions_first",
    ),
    intake(
        Kind.BOUND,
        "few requests wait for the stream",
        "if len(self._queue) >= self._bounds.waiting_max:",
        "if len(self._queue) >= 1_000_000:",
        f"{SOCKET}::test_a_gateway_at_its_bound_says_when_to_come_back",
    ),
    intake(
        Kind.BOUND,
        "few requests wait for a decision",
        "if len(self.undecided) >= self._bounds.undecided_max:",
        "if len(self.undecided) >= 1_000_000:",
        f"{SOCKET}::test_a_gateway_at_its_bound_says_when_to_come_back",
    ),
    intake(
        Kind.BOUND,
        "nothing new is taken while decisions are far behind",
        "        if self.refuse_new is not None:\n",
        "        if False:\n",
        f"{LOST}::test_decisions_far_behind_refuse_what_is_new_and_not_what_is_known",
    ),
    intake(
        Kind.BOUND,
        "what was never sent is refused in time",
        "        while self._queue and self._queue[0].since < oldest:\n",
        "        while False:\n",
        f"{INTAKE_TEST}::test_what_was_never_sent_is_refused_after_its_time_and_what_was_sent_is_not",
    ),
    intake(
        Kind.BOUND,
        "one append has few entries",
        "while waiting and len(group) < GROUP_MAX:",
        "while waiting:",
        f"{INTAKE_TEST}::test_a_group_has_a_bound",
    ),
    intake(
        Kind.BOUND,
        "few wait for one request",
        "            if len(pending.waiters) >= WAITERS_MAX:\n                del pending.waiters[0]\n",
        "",
        f"{BOUNDS_TEST}::test_of_too_many_who_wait_for_one_request_the_oldest_is_let_go",
    ),
    intake(
        Kind.BOUND,
        "who was told the arrival and wants no more takes no waiter's place",
        "            waiter.accepted(pending.request_id, pending.arrival)\n            return\n",
        "            waiter.accepted(pending.request_id, pending.arrival)\n",
        f"{WHO_WAITS}::test_posts_of_its_key_do_not_take_a_sockets_decision",
    ),
    In("gateway/api.py")(
        Kind.BOUND,
        "a GET that was answered takes no waiter's place",
        "                runtime.intake.detach(pending, watched)\n",
        "                pass\n",
        f"{WHO_WAITS}::test_looking_at_a_request_does_not_take_a_sockets_decision",
    ),
    posted(
        Kind.BOUND,
        "a POST that waited long enough takes no waiter's place",
        "            self._event.intake.detach(self._pending, self)\n",
        "",
        f"{WHO_WAITS}::test_a_post_whose_time_is_over_does_not_take_a_sockets_decision",
    ),
    socket(
        Kind.BOUND,
        "a socket that is gone takes no waiter's place",
        "            self._event.intake.leave(self._buyer_id, self)\n",
        "",
        f"{WHO_WAITS}::test_sockets_that_are_gone_do_not_take_a_sockets_decision",
    ),
]

REASK = [
    reask(
        Kind.ASK_AGAIN,
        "what the cursor has passed without a row was lost",
        "return order <= arrival_order(cursor) or (",
        "return (",
        WAS_LOST,
        f"{LOST}::test_an_entry_the_stream_lost_is_appended_again_with_its_first_arrival",
    ),
    reask(
        Kind.ASK_AGAIN,
        "what the cursor has not passed is not lost",
        "order <= arrival_order(cursor)",
        "order >= arrival_order(cursor)",
        WAS_LOST,
    ),
    reask(
        Kind.ASK_AGAIN,
        "what is above the stream's last id was lost",
        " or (last is not None and order > arrival_order(last))",
        "",
        WAS_LOST,
    ),
    reask(
        Kind.ASK_AGAIN,
        "the cursor is read before the ledger",
        "        cursor = await self._cursor()\n        last",
        "        last",
        f"{ORDER_AGAIN}::test_what_is_decided_while_the_ledger_is_asked_was_not_lost",
        more=(("        lost = []\n", "        lost = []\n        cursor = await self._cursor()\n"),),
    ),
    reask(
        Kind.ASK_AGAIN,
        "what was lost is appended again",
        "            self._intake.append_again(lost)\n",
        "            pass\n",
        f"{LOST}::test_an_entry_the_stream_lost_is_appended_again_with_its_first_arrival",
    ),
    reask(
        Kind.ASK_AGAIN,
        "a stream that is gone means everything again",
        "            self._intake.everything_again()  # the append",
        "            pass  # the append",
        f"{LOST}::test_a_lost_stream_is_noticed_without_a_new_request",
    ),
    reask(
        Kind.ASK_AGAIN,
        "a decision that was not published is found in the ledger",
        "                self._intake.deliver([(pending.buyer, pending.request_id, decided.frame)])\n",
        "",
        f"{LOST}::test_a_decision_that_was_not_published_is_found_in_the_ledger",
    ),
    reask(
        Kind.DEDUPE,
        "another content's decision is not handed out",
        "    return decided.want.encode() == pending.want\n",
        "    return True\n",
        f"{LOST}::test_an_unpublished_conflict_is_told_by_the_allocator_for_that_arrival_only",
        f"{LOST}::test_a_conflict_that_nobody_decided_is_not_told",
    ),
    posted(
        Kind.DEDUPE,
        "another content under a decided key is refused over HTTP",
        "                if decided.want.encode() != self._content:\n                    raise KeyReused\n",
        "",
        f"{HTTP}::test_a_key_with_other_content_is_refused",
    ),
    socket(
        Kind.DEDUPE,
        "another content under a decided key is not answered with its decision",
        "if decided is not None and decided.want.encode() == content:",
        "if decided is not None:",
        f"{SOCKET}::test_another_content_for_a_known_key_is_a_conflict_and_the_first_decision_stands",
    ),
]

MUTANTS: list[Mutant] = [*INTAKE, *REASK]
