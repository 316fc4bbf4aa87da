"""Faults in the human check on buyers' pages."""

from __future__ import annotations

from tests.mutants.mutant import In, Kind, Mutant

PAGE = "tests/browser/test_human_check.py"
WIDGET = "tests/gateway/room/test_widget.py"
widget = In("gateway/room/widget.py")
settings = In("gateway/room/settings.py")
roomasking = In("gateway/pages/static/core/roomasking.js")
human = In("gateway/pages/static/core/human.js")
join = In("gateway/pages/static/views/join.js")

MUTANTS: list[Mutant] = [
    widget(
        Kind.ORIGIN,
        "no script comes over the open network",
        """    return found[1] == "https" or found[2] in _AT_HOME\n""",
        "    return True\n",
        f"{WIDGET}::test_what_would_allow_more_or_come_over_the_open_network_is_no_script",
    ),
    widget(
        Kind.ORIGIN,
        "only hCaptcha is allowed what hCaptcha asks for",
        """host.endswith(".hcaptcha.com")""",
        """host.endswith("hcaptcha.com")""",
        f"{WIDGET}::test_hcaptcha_is_allowed_as_it_asks_for",
    ),
    settings(
        Kind.ORIGIN,
        "a setting allows pages nothing but a script's origin",
        "        if script and not is_script(script):\n",
        "        if False:\n",
        f"{WIDGET}::test_what_would_allow_more_or_come_over_the_open_network_is_no_script",
    ),
    join(
        Kind.CONDITION,
        "nobody is sent to be refused before they did the human check",
        " && !human.misses()",
        "",
        f"{PAGE}::test_without_it_nobody_joins_and_the_page_says_what_to_do",
    ),
    human(
        Kind.TOKEN,
        "an answer of the human check that is over is not sent",
        """"expired-callback": () => this.#became(box, ""),""",
        """"expired-callback": () => this.#became(box, this.answer),""",
        f"{PAGE}::test_without_it_nobody_joins_and_the_page_says_what_to_do",
    ),
    roomasking(
        Kind.ASK_AGAIN,
        "after a refusal the human check is done anew",
        """    if (kind === "join") this.room.human.again();\n""",
        "",
        f"{PAGE}::test_an_answer_that_is_refused_is_asked_for_anew",
    ),
]
