"""Faults where a launch is made: half of one, what is wrong let through, and uploads without a bound."""

from __future__ import annotations

from tests.mutants.mutant import In, Kind, Mutant

LAUNCHES = "tests/gateway/test_operator_launching.py"
VENUES = "tests/gateway/test_operator_venues.py"
UPLOADS = "tests/gateway/test_operator_uploads.py"
FIELDS = f"{LAUNCHES}::test_every_field_that_is_wrong_is_named_at_once_and_nothing_is_made"
making = In("store/launches/making.py")
checking = In("store/launches/checking.py")
uploads = In("gateway/operators/uploads.py")

MUTANTS: list[Mutant] = [
    In("store/venues/rows.py")(
        Kind.BOUND,
        "a plan is read once to be listed",
        "        _counted.update(counts)\n",
        "",
        "tests/store/test_venue_rows.py"
        "::test_a_plan_is_read_once_to_be_listed_and_what_is_known_of_plans_is_bounded",
    ),
    In("store/venues/rows.py")(
        Kind.BOUND,
        "what a process knows of plans has an end",
        "            _counted.clear()\n",
        "            pass\n",
        "tests/store/test_venue_rows.py"
        "::test_a_plan_is_read_once_to_be_listed_and_what_is_known_of_plans_is_bounded",
    ),
    making(
        Kind.CONDITION,
        "a launch is made whole or not at all",
        "    with conn.transaction():\n        venue_id, venue = _keep(conn, there)\n",
        "    if conn:\n        venue_id, venue = _keep(conn, there)\n",
        f"{LAUNCHES}::test_what_fails_last_leaves_nothing_of_what_came_before",
    ),
    checking(
        Kind.CONDITION,
        "a launch with a field that is wrong is not made",
        "    if found.errors:\n        _check_slug",
        "    if not plan:\n        _check_slug",
        FIELDS,
    ),
    checking(
        Kind.CONDITION,
        "a plan at other prices is kept as a plan of its own",
        "    return priced, None\n",
        "    return priced, venue_id\n",
        f"{LAUNCHES}::test_other_prices_are_a_plan_of_their_own_under_the_events_slug",
    ),
    checking(
        Kind.CLOCK,
        "an event does not open at a time that is over",
        "        if opens_at <= now:\n",
        "        if opens_at <= now.replace(year=2000):\n",
        FIELDS,
    ),
    uploads(
        Kind.BOUND,
        "what is told to be too large is not read",
        " and int(told) > bytes_max:",
        " and int(told) > 2**40:",
        f"{VENUES}::test_a_huge_upload_is_refused_by_its_length_or_as_soon_as_it_is_too_much",
        f"{UPLOADS}::test_a_gigabyte_is_refused_before_any_of_it_is_sent",
    ),
    uploads(
        Kind.BOUND,
        "an upload that does not end is read up to its bound",
        "        if len(raw) > bytes_max:\n",
        "        if len(raw) > 2**26:\n",
        f"{VENUES}::test_a_huge_upload_is_refused_by_its_length_or_as_soon_as_it_is_too_much",
    ),
    uploads(
        Kind.BOUND,
        "a gateway takes a few uploads at a time",
        "        if self._under_way >= UNDER_WAY_MAX:\n",
        "        if self._under_way >= 100:\n",
        f"{VENUES}::test_only_a_few_uploads_are_under_way_at_once",
    ),
    In("gateway/http_bounds.py")(
        Kind.BOUND,
        "a slow upload ends too",
        "        if self._is_upload() and self._waited < PATIENCE_MAX:\n",
        "        if self._is_upload():\n",
        f"{UPLOADS}::test_a_plan_that_comes_slowly_has_longer_than_other_bodies_but_not_for_ever",
    ),
    In("store/venues/source.py")(
        Kind.CONDITION,
        "a file of another kind is refused by its first bytes",
        "        refuse_unless(not begins.startswith(signature), ",
        "        refuse_unless(True, ",
        f"{VENUES}::test_a_wrong_file_names_line_or_field_and_nothing_is_kept",
    ),
]
