"""Faults in the operators' console: who may, what is asked, what two operators see of each other."""

from __future__ import annotations

from tests.mutants.mutant import In, Kind, Mutant

LAUNCH = "tests/browser/test_console_launch.py"
SHELL = "tests/browser/test_console_shell.py"
RECORDS = "tests/browser/test_console_records.py"
shell = In("gateway/pages/static/console/shell.js")
dialog = In("gateway/pages/static/console/dialog.js")
moves = In("gateway/pages/static/console/launch/moves.js")
page = In("gateway/pages/static/console/launch/page.js")
routes = In("gateway/pages/static/console/routes.js")
live = In("gateway/pages/static/console/live.js")
session = In("gateway/pages/static/console/session.js")
series = In("gateway/pages/static/console/charts/series.js")

MUTANTS: list[Mutant] = [
    In("gateway/pages/static/console/paged.js")(
        Kind.DEDUPE,
        "older rows are asked for once, however often that is pressed",
        'class="button quiet small" disabled=${reading} onClick',
        'class="button quiet small" onClick',
        f"{RECORDS}::test_the_audit_is_filtered_by_its_address_and_read_on",
        f"{RECORDS}::test_an_event_moves_to_a_host_that_takes_some",
    ),
    In("gateway/pages/static/console/toasts.js")(
        Kind.CONDITION,
        "what was done stays said while somebody points at it",
        '":hover, :focus-within"',
        '":focus-within"',
        f"{RECORDS}::test_a_host_is_drained_after_one_question_and_kept_again",
    ),
    dialog(
        Kind.CONDITION,
        "a text of several lines is ended with Ctrl and Enter",
        "else if ((event.ctrlKey || event.metaKey) && event",
        "else if (event.altKey && event",
        f"{LAUNCH}::test_a_message_is_shown_to_all_who_wait_and_taken_off_again",
    ),
    In("gateway/pages/static/console/rehearse/page.js")(
        Kind.DEDUPE,
        "a rehearsal is started once, however often that is pressed",
        "    submitted.preventDefault();\n    if (this.state.sending) return;\n",
        "    submitted.preventDefault();\n",
        "tests/browser/test_rehearse_page.py::test_what_could_not_take_place_says_why_and_may_be_tried_again",
        more=(("${!ready || sending || Boolean(running)}", "${!ready}"),),
    ),
    shell(
        Kind.TOKEN,
        "a page of the console that a role may not see is not shown to it",
        "    if (!session.may(of.route.needs)) return",
        "    if (!session.may(of.route.needs) && !View) return",
        f"{RECORDS}::test_keys_are_for_owners",
    ),
    routes(
        Kind.TOKEN,
        "pages that name buyers are for operators and owners",
        'title: "A buyer", needs: "operator"',
        'title: "A buyer", needs: "viewer"',
        f"{RECORDS}::test_buyers_are_named_to_operators_and_owners_alone",
    ),
    live(
        Kind.BOUND,
        "who is turned away comes back less and less often",
        ' || frame.type === "error") return;',
        ") return;",
        f"{SHELL}::test_who_is_turned_away_comes_back_less_and_less_often_and_reads_by_http_meanwhile",
    ),
    session(
        Kind.CONDITION,
        "a refused key's words stay while the feed asks again who is there",
        '    if (phase === "asking" || phase === "in") this',
        "    if (true) this",
        f"{SHELL}::test_a_session_that_ends_asks_again_and_keeps_the_page",
    ),
    page(
        Kind.TOKEN,
        "who may only look sees no lever of a launch",
        '    const may = session.may("operator");\n',
        "    const may = true;\n",
        f"{LAUNCH}::test_a_viewer_sees_everything_and_no_lever",
    ),
    dialog(
        Kind.CONDITION,
        "what cannot be taken back is done once its name is typed",
        "    const ready = !type || typed.trim() === type;\n",
        "    const ready = true;\n",
        f"{LAUNCH}::test_closing_needs_the_events_name_typed",
    ),
    moves(
        Kind.CONDITION,
        "a pace is set only where nobody changed the room since it was seen",
        "{ pace, edition, why: WHY }",
        "{ pace, why: WHY }",
        f"{LAUNCH}::test_who_is_slower_sees_what_it_is_now_and_who_did_it",
    ),
    moves(
        Kind.CONDITION,
        "a sale is moved from the state the operator saw",
        "`/${move}`), { seen }), done",
        "`/${move}`), {}), done",
        f"{LAUNCH}::test_a_pause_asks_once_by_keyboard_is_sent_once_and_can_be_undone",
    ),
    moves(
        Kind.BOUND,
        "a pace far above the one before is asked about",
        "pace > MUCH * room.pace",
        "false",
        f"{LAUNCH}::test_a_pace_far_off_is_asked_about_and_what_is_no_pace_cannot_be_sent",
    ),
    page(
        Kind.SNAPSHOT,
        "a frame that was on its way while a lever was moved takes nothing back",
        "return at_ms < this.looked.at_ms && ",
        "return false && ",
        f"{LAUNCH}::test_a_word_that_was_on_its_way_while_a_lever_moved_takes_nothing_back",
    ),
    series(
        Kind.READ_AHEAD,
        "what nobody sampled is a gap in a chart, no line across it",
        "if (before && row[0] - before[0] > GAP_STEPS * step_ms)",
        "if (false)",
        f"{LAUNCH}::test_what_nobody_sampled_is_a_gap_and_words_that_come_late_change_nothing",
    ),
]
