"""Faults in leaving the waiting list and in reading it."""

from __future__ import annotations

from tests.mutants.mutant import In, Kind, Mutant

TEST = "tests/store/test_waiting.py"
OWN = f"{TEST}::test_only_ones_own_request_is_taken_off"
OTHERS = f"{TEST}::test_ones_other_requests_and_other_events_stay_on_the_list"
ELSEWHERE = f"{TEST}::test_of_another_event_nothing_is_seen"
PLACES = f"{TEST}::test_places_count_who_waits_before_and_one_look_serves_many"
waiting = In("store/waiting.py")

LEAVING = (
    " WHERE event_id = %(event)s AND buyer = %(buyer)s AND request_id = %(request)s AND state = 'waiting'\n"
)
READING = " WHERE event_id = %(event)s AND buyer = %(buyer)s AND request_id = %(request)s\n"
RANKED = "    FROM waiting WHERE event_id = %(event)s AND state = 'waiting'),\n"
MINE = "WHERE event_id = %(event)s AND waiting.buyer = asked.buyer AND state <> 'left'\n"

MUTANTS: list[Mutant] = [
    waiting(
        Kind.CONDITION,
        "only its buyer takes a request off the waiting list",
        LEAVING,
        LEAVING.replace("buyer = %(buyer)s AND ", ""),
        OWN,
    ),
    waiting(
        Kind.CONDITION,
        "only the request that is named leaves the waiting list",
        LEAVING,
        LEAVING.replace(" AND request_id = %(request)s", ""),
        OTHERS,
    ),
    waiting(
        Kind.CONDITION,
        "only a request of this event leaves the waiting list",
        LEAVING,
        LEAVING.replace("event_id = %(event)s AND ", ""),
        OTHERS,
    ),
    waiting(
        Kind.CONDITION,
        "only who waits leaves the waiting list",
        LEAVING,
        LEAVING.replace(" AND state = 'waiting'", ""),
        f"{TEST}::test_the_statement_itself_takes_off_only_what_waits",
    ),
    waiting(
        Kind.CONDITION,
        "nobody sees whether somebody else waits",
        READING,
        READING.replace(" AND buyer = %(buyer)s", ""),
        OWN,
    ),
    waiting(
        Kind.CONDITION,
        "whether a request waits is asked of that request",
        READING,
        READING.replace(" AND request_id = %(request)s", ""),
        OWN,
    ),
    waiting(
        Kind.CONDITION,
        "whether a request waits is asked of this event",
        READING,
        READING.replace("event_id = %(event)s AND ", ""),
        f"{TEST}::test_the_statement_itself_takes_off_only_what_waits",
    ),
    waiting(
        Kind.FACTS,
        "that somebody left is told to the allocator",
        "            await connection.execute(INSERT_LEFT, fact)\n",
        "            assert fact\n",
        f"{TEST}::test_who_leaves_is_off_the_list_and_the_allocator_is_told_once",
    ),
    waiting(
        Kind.CONDITION,
        "who was offered something does not leave",
        "        if entry[1] is not None:\n",
        "        if False:\n",
        f"{TEST}::test_who_was_offered_something_cannot_leave_and_hears_which_hold",
    ),
    waiting(
        Kind.CONDITION,
        "a place counts those of its own event",
        RANKED,
        RANKED.replace("event_id = %(event)s AND ", ""),
        PLACES,
    ),
    waiting(
        Kind.CONDITION,
        "a place counts those who wait",
        RANKED,
        RANKED.replace(" AND state = 'waiting'", ""),
        PLACES,
    ),
    waiting(
        Kind.CONDITION,
        "who looks at the list sees entries of this event",
        MINE,
        MINE.replace("event_id = %(event)s AND ", ""),
        ELSEWHERE,
    ),
    waiting(
        Kind.CONDITION,
        "who looks at the list sees entries of one's own",
        MINE,
        MINE.replace(" AND waiting.buyer = asked.buyer", ""),
        PLACES,
    ),
    waiting(
        Kind.CONDITION,
        "who left is on the list no more",
        MINE,
        MINE.replace(" AND state <> 'left'", ""),
        f"{TEST}::test_who_leaves_is_off_the_list_and_the_allocator_is_told_once",
    ),
    *[
        waiting(
            Kind.CONDITION,
            f"what is told of an entry is this event's {what}",
            f"LEFT JOIN {joined} ON {name}.event_id = %(event)s",
            f"LEFT JOIN {joined} ON {name}.event_id > 0",
            ELSEWHERE,
        )
        for what, joined, name in (
            ("wish", "ledger AS request", "request"),
            ("offer", "ledger AS offer", "offer"),
            ("hold", "hold", "hold"),
        )
    ],
    waiting(
        Kind.CONDITION,
        "what is told as an offer is one",
        " AND offer.kind = 'offer'",
        "",
        f"{TEST}::test_only_an_offers_row_is_told_as_an_offer",
    ),
    waiting(
        Kind.BOUND,
        "a buyer is told of so many entries",
        " LIMIT {ENTRIES_MAX}) AS entry)",
        ") AS entry)",
        f"{TEST}::test_of_many_entries_those_that_wait_are_told_and_the_newest_offers",
    ),
    waiting(
        Kind.BOUND,
        "what waits is told before what was offered",
        "ORDER BY state = 'waiting' DESC, wait_id DESC",
        "ORDER BY wait_id DESC",
        f"{TEST}::test_of_many_entries_those_that_wait_are_told_and_the_newest_offers",
    ),
    waiting(
        Kind.BOUND,
        "a very long wish is not told with each place",
        "CASE WHEN length(request.input::text) <= {WANT_LENGTH_MAX} THEN",
        "CASE WHEN true THEN",
        f"{TEST}::test_a_very_long_wish_is_not_told_with_each_place",
    ),
]
