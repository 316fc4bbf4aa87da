"""Faults in what the console is told and gives out."""

from __future__ import annotations

from tests.mutants.mutant import In, Kind, Mutant

LIVE = "tests/gateway/test_live.py"
EXPORT = "tests/store/console/test_export.py"
EXPORTS = "tests/gateway/test_operator_exports.py"
SAMPLES = "tests/store/console/test_samples.py"
socket = In("gateway/live/socket.py")
feed = In("gateway/live/feed.py")

MUTANTS: list[Mutant] = [
    socket(
        Kind.TOKEN,
        "a console's key is for what it sees",
        "frame.event is not None and not self._watcher.caller.may_see(frame.event)",
        "frame.event is None and not self._watcher.caller.may_see(str(frame.event))",
        f"{LIVE}::test_a_key_of_one_event_sees_that_alone",
    ),
    socket(
        Kind.TOKEN,
        "a console's key that was revoked watches no longer",
        "                self._watcher.caller = await self._look()\n",
        "                continue\n",
        f"{LIVE}::test_a_key_that_is_revoked_watches_no_longer",
    ),
    feed(
        Kind.BOUND,
        "who says nothing to a console's socket takes no watcher's place",
        "return len(self.hub.clients) - self.strangers >= WATCHERS_MAX",
        "return len(self.hub.clients) >= WATCHERS_MAX",
        f"{LIVE}::test_who_does_not_say_who_they_are_keeps_no_operator_from_watching",
    ),
    socket(
        Kind.BOUND,
        "who is to say hello to a console's socket waits among few",
        "if live.strangers >= STRANGERS_MAX:",
        "if live.strangers < 0:",
        f"{LIVE}::test_who_does_not_say_who_they_are_keeps_no_operator_from_watching",
    ),
    socket(
        Kind.BOUND,
        "who says hello to a console's socket late finds no more watchers than may be",
        "            if live.full:\n",
        "            if False:\n",
        f"{LIVE}::test_who_does_not_say_who_they_are_keeps_no_operator_from_watching",
    ),
    feed(
        Kind.BOUND,
        "many launches keep none from a console whose key is limited to it",
        "seen.launches if scope is None else [*seen.launches, *seen.others]",
        "seen.launches",
        f"{LIVE}::test_a_limited_key_sees_all_its_events_and_nothing_of_others",
    ),
    In("gateway/operators/launches.py")(
        Kind.TOKEN,
        "a limited key of a console is told the launches it is for",
        "among=caller.events)",
        "among=None)",
        f"{LIVE}::test_a_limited_key_sees_all_its_events_and_nothing_of_others",
    ),
    In("store/console/needs.py")(
        Kind.TOKEN,
        "what is wrong for all events names none to a console whose key is limited",
        " if limited else chores)",
        " if around is None else chores)",
        f"{LIVE}::test_a_limited_key_sees_all_its_events_and_nothing_of_others",
    ),
    feed(
        Kind.CONDITION,
        "the console's feed goes on whatever failed",
        "            except Exception:\n",
        "            except MemoryError:\n",
        f"{LIVE}::test_what_fails_once_is_read_again_for_who_comes_back",
    ),
    feed(
        Kind.TOKEN,
        "a console sees the launches of its key alone",
        "if one.caller.may_see(launch.slug)]",
        "if launch]",
        f"{LIVE}::test_a_key_of_one_event_sees_that_alone",
    ),
    feed(
        Kind.BOUND,
        "very many launches are told to a console less often",
        "(changed and now >= one.launches_again_at)",
        "changed",
        f"{LIVE}::test_many_launches_are_told_less_often",
    ),
    In("gateway/operators/exports.py")(
        Kind.TOKEN,
        "an export to a console that names people is for owners",
        "if what in PERSONAL and not caller.role.includes(Role.OWNER):",
        "if what in PERSONAL and caller is None:",
        f"{EXPORTS}::test_what_names_people_is_for_owners_and_is_audited",
    ),
    In("gateway/operators/exports.py")(
        Kind.BOUND,
        "an export counts from when it is asked for",
        "        self._state.exports = running + 1\n",
        "        self._state.exports = running\n",
        f"{EXPORTS}::test_one_that_is_still_connecting_counts_and_who_is_refused_is_not_audited",
    ),
    In("gateway/operators/exports.py")(
        Kind.BOUND,
        "an export that nobody reads makes room",
        "            async with asyncio.timeout(IDLE_SECONDS_MAX):\n",
        "            async with asyncio.timeout(None):\n",
        f"{EXPORTS}::test_who_reads_nothing_keeps_nobody_from_theirs",
    ),
    In("store/console/export.py")(
        Kind.CONDITION,
        "an export for the console's users is no formula",
        "isinstance(value, str) and value.startswith(FORMULA)",
        "isinstance(value, str) and value.startswith(FORMULA[1:])",
        f"{EXPORT}::test_no_text_is_a_formula_to_a_spreadsheet",
    ),
    In("store/console/samples.py")(
        Kind.BOUND,
        "the console's samples are forgotten one day",
        '        conn.execute(FORGET.encode(), {"event": event})\n',
        "",
        f"{SAMPLES}::test_what_is_very_old_is_forgotten",
    ),
]
