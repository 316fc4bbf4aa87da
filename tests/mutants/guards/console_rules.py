"""Faults in the console's page of rules: what was changed is sent and nothing else, from what was seen, once
it was asked for."""

from __future__ import annotations

from tests.mutants.mutant import In, Kind, Mutant

RULES = "tests/browser/test_console_rules.py"
ASKED = f"{RULES}::test_only_what_was_changed_is_sent_once_it_was_asked_and_can_be_taken_back"
SLOWER = f"{RULES}::test_who_was_slower_is_told_who_changed_what_and_may_do_theirs_all_the_same"
BESIDE = f"{RULES}::test_what_cannot_be_is_said_beside_its_field_and_what_is_settled_has_none"
form = In("gateway/pages/static/console/rules/form.js")
saving = In("gateway/pages/static/console/rules/saving.js")
page = In("gateway/pages/static/console/rules/page.js")

MUTANTS: list[Mutant] = [
    saving(
        Kind.SNAPSHOT,
        "rules are changed only where nobody changed them since they were seen",
        "({ ...wired(terms), seen: wired(policy) })",
        "({ ...wired(terms) })",
        ASKED,
    ),
    saving(
        Kind.SNAPSHOT,
        "a room's terms are changed only where nobody changed it since it was seen",
        "({ ...terms, edition: room.edition })",
        "({ ...terms })",
        SLOWER,
    ),
    saving(
        Kind.CONDITION,
        "a rule is changed once it was asked for",
        "return said ? this.#send(changes, now, whyOf(said)) : {};",
        "return this.#send(changes, now, whyOf(said));",
        ASKED,
    ),
    saving(
        Kind.CONDITION,
        "who was slower changes nothing without being asked again",
        "return again ? this.#send(left, now, why) : {};",
        "return this.#send(left, now, why);",
        SLOWER,
    ),
    form(
        Kind.CONDITION,
        "a rule that is not changed is not sent",
        "else if (to !== from) changes.push",
        "else changes.push",
        ASKED,
    ),
    form(
        Kind.CONDITION,
        "what is no number is not sent",
        "if (Object.keys(wrong).length) return this.#wrong(wrong);",
        "",
        BESIDE,
    ),
    form(
        Kind.CONDITION,
        "what is settled cannot be filled in",
        "may && !settled(rule)",
        "may",
        BESIDE,
    ),
    page(
        Kind.TOKEN,
        "who only looks changes no rule in the console",
        'session.may("operator")',
        "true",
        f"{RULES}::test_a_viewer_reads_every_rule_in_words",
    ),
]
