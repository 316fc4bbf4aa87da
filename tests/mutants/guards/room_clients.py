"""Faults in the Python client where no websocket can be had."""

from __future__ import annotations

from tests.mutants.mutant import In, Kind, Mutant

WAYS = "tests/clients/test_buyer_ways.py"
ways = In("clients/python/onsale_client/ways.py")
news = In("clients/python/onsale_client/news.py")

MUTANTS: list[Mutant] = [
    ways(
        Kind.BOUND,
        "a socket that is refused is not tried for ever",
        "self._failed < SOCKETS_FAILED_MAX or",
        "self._failed >= 0 or",
        f"{WAYS}::test_ways_that_are_refused_are_not_tried_for_ever",
    ),
    news(
        Kind.BOUND,
        "a stream that is refused is not tried for ever",
        "self._failed < STREAMS_FAILED_MAX or",
        "self._failed >= 0 or",
        f"{WAYS}::test_ways_that_are_refused_are_not_tried_for_ever",
    ),
    news(
        Kind.DEDUPE,
        "over HTTP a request that is asked again has its key",
        '{"Idempotency-Key": frame["id"], ',
        '{"Idempotency-Key": frame["id"] + str(id(body)), ',
        f"{WAYS}::test_a_request_that_waits_for_its_decision_is_asked_again_under_its_key",
    ),
    news(
        Kind.TOKEN,
        "a token that is not good ends a client that has no socket, and says so",
        "        raise NotOpen(FOR_GOOD[refused.code], str(refused)) from refused\n",
        "        raise refused\n",
        f"{WAYS}::test_a_token_that_is_not_good_ends_every_way",
    ),
]
