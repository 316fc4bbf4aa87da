"""Faults in what buyers' sockets hear of holds."""

from __future__ import annotations

from tests.mutants.mutant import In, Kind, Mutant

HOLDERS = "tests/gateway/test_holders.py"
CHANGES = "tests/gateway/test_hold_changes.py"
MINUTE = f"{HOLDERS}::test_the_holder_is_told_within_the_last_minute_and_once"
ON_EVERY_GATEWAY = f"{HOLDERS}::test_what_a_buyer_does_the_buyers_other_sockets_hear_on_every_gateway"
SHORT_EXTENSION = f"{HOLDERS}::test_a_short_extension_is_told_before_its_new_end_though_later_ends_were_told"
lookups = In("store/lookups.py")
holders = In("gateway/holders.py")

MUTANTS: list[Mutant] = [
    lookups(
        Kind.EXPIRY,
        "a hold's end is told within its last minute",
        "   AND expires_at <= coalesce(paused_at, now()) + interval '{SOON_SECONDS} s'\n",
        "",
        MINUTE,
    ),
    lookups(
        Kind.EXPIRY,
        "a hold that ran out is not told to run out",
        " AND expires_at > coalesce(paused_at, now())\n",
        "\n",
        MINUTE,
    ),
    lookups(
        Kind.DEDUPE,
        "each look goes on where the last one ended",
        "   AND (expires_at, hold_id) > (to_timestamp(%(end)s / 1000000.0), %(hold)s::bigint)\n",
        "   AND %(end)s + %(hold)s >= 0\n",
        f"{HOLDERS}::test_a_look_goes_on_until_all_are_found",
    ),
    holders(
        Kind.DEDUPE,
        "an end that was told is not told again",
        "            if before is not None and before.expires_at == ending.expires_at:\n",
        "            if before is not None and before.expires_at < 0:\n",
        f"{HOLDERS}::test_after_a_pause_whoever_ends_later_is_told_and_nobody_twice",
    ),
    In("gateway/events.py")(
        Kind.EXPIRY,
        "after an outage the last minute of the new end is told",
        "        self.holders.look_again()  #",
        "        pass  #",
        f"{HOLDERS}::test_after_an_outage_whoever_ends_later_is_told_again",
    ),
    holders(
        Kind.EXPIRY,
        "who came back while the database was away is told when it is back",
        "        back = dict(self._back)\n",
        "        back, self._back = self._back, {}\n",
        f"{HOLDERS}::test_who_comes_back_while_the_database_is_away_is_told_when_it_is_back",
    ),
    holders(
        Kind.DEDUPE,
        "who came back is told once",
        "                self._back.pop(client, None)\n",
        "                pass\n",
        f"{HOLDERS}::test_who_comes_back_while_the_database_is_away_is_told_when_it_is_back",
    ),
    holders(
        Kind.BOUND,
        "who came back and left is not remembered",
        "        self._back.pop(client, None)\n        mine",
        "        mine",
        f"{HOLDERS}::test_who_comes_back_while_the_database_is_away_is_told_when_it_is_back",
    ),
    In("gateway/buyers/owning.py")(
        Kind.EXPIRY,
        "a short extension is told before its new end",
        "        event.holders.extended(buyer)\n",
        "        pass\n",
        SHORT_EXTENSION,
    ),
    holders(
        Kind.EXPIRY,
        "a short extension at another gateway is told before its new end",
        "                    self.extended(buyer)\n",
        "                    pass\n",
        SHORT_EXTENSION,
    ),
    holders(
        Kind.BOUND,
        "what is remembered of holds that end soon has a bound",
        " or len(self._ends) > SOON_MAX",
        "",
        f"{HOLDERS}::test_what_is_remembered_has_a_bound_and_ends_with_the_holds",
    ),
    holders(
        Kind.CONDITION,
        "who comes back is told of the buyer's own holds",
        "                if buyer == ending.buyer:\n",
        "                if buyer:\n",
        f"{HOLDERS}::test_who_comes_back_within_the_minute_is_told_if_the_hold_still_runs",
    ),
    holders(
        Kind.DEDUPE,
        "a gateway does not tell its sockets twice",
        "        if news.gateway != self._gateway_id:\n",
        "        if news.gateway:\n",
        ON_EVERY_GATEWAY,
    ),
    holders(
        Kind.DEDUPE,
        "the socket that asked is answered once",
        "            if client is not but:\n",
        "            if client:\n",
        ON_EVERY_GATEWAY,
    ),
    In("gateway/buyers/decode.py")(
        Kind.BOUND,
        "a release that names nothing is not a release of all",
        "    if not seats and not areas:\n",
        "    if seats is areas:\n",
        f"{CHANGES}::test_what_cannot_be_given_back_changes_nothing",
    ),
]
