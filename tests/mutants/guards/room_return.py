"""Faults on the way from another shop through the waiting room and back."""

from __future__ import annotations

from tests.mutants.mutant import In, Kind, Mutant

SHOPS = "tests/gateway/room/test_shops.py"
PAGE = "tests/browser/test_return_page.py"
JOURNEY = "tests/browser/test_return_journey.py"
MIDDLEWARE = "tests/clients/test_middleware.py"
shops = In("gateway/room/shops.py")
line = In("gateway/pages/line.py")
returning = In("gateway/pages/static/core/returning.js")
room = In("gateway/pages/static/core/room.js")
middleware = In("clients/python/onsale_client/middleware.py")

BAD = f"{SHOPS}::test_every_other_address_is_not"

MUTANTS: list[Mutant] = [
    shops(
        Kind.ORIGIN,
        "nobody is sent on to a host that only begins like a shop's",
        ' and rest[:1] in ("", "/", "?", "#")',
        "",
        BAD,
    ),
    shops(
        Kind.ORIGIN,
        "an address that readers may read otherwise is nobody's",
        " or not _is_plain(address)",
        "",
        BAD,
    ),
    shops(
        Kind.BOUND,
        "an address that is gone back to has a bound",
        " or len(address) > ADDRESS_LENGTH_MAX",
        "",
        BAD,
    ),
    shops(
        Kind.TOKEN,
        "one token goes to a shop and none that was in the address",
        ' and unquote_plus(part.partition("=")[0]) != QUERY',
        "",
        f"{SHOPS}::test_the_token_stands_in_the_query_and_no_other_beside_it",
    ),
    line(
        Kind.ORIGIN,
        "without scripts nobody is sent on to who is no shop",
        "    known = shops.returning(visit.runtime.settings.room, back) if back else None\n",
        "    known = shops.Return(back, back) if back else None\n",
        f"{JOURNEY}::test_who_comes_with_another_address_is_told_and_sent_nowhere",
    ),
    returning(
        Kind.ORIGIN,
        "a page gives a token to the shop it is for and to nobody else",
        "if (answer.token && answer.shop === shop) return",
        "if (address) return",
        f"{PAGE}::test_an_address_that_was_kept_is_judged_by_the_server_before_it_is_gone_to",
    ),
    returning(
        Kind.ORIGIN,
        "what a page kept is gone to only if it is a page's address",
        "if (!this.address && address && originOf(address))",
        "if (!this.address && address)",
        f"{PAGE}::test_what_was_kept_and_is_no_address_of_a_page_is_nothing",
    ),
    room(
        Kind.CONDITION,
        "seats are not chosen here by who goes on to another shop",
        " && !this.returning.address",
        "",
        f"{PAGE}::test_each_screen_on_the_way_is_for_everybody",
    ),
    room(
        Kind.EXPIRY,
        "the way back is kept over a refresh",
        "    this.returning.restore(back);\n",
        "",
        f"{JOURNEY}::test_from_the_shop_through_the_room_into_the_shop",
    ),
    middleware(
        Kind.CONDITION,
        "who is sent to the room comes back to the same address, query and all",
        ' + (f"?{left}" if left else "")',
        "",
        f"{MIDDLEWARE}::test_a_browser_without_one_is_sent_to_the_room_and_told_where_to_come_back",
    ),
]
