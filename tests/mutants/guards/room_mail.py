"""Faults in naming an address for the mail that says whose turn it is."""

from __future__ import annotations

from tests.mutants.mutant import In, Kind, Mutant

PAGE = "tests/browser/test_mail_field.py"
GUARDED = "tests/gateway/room/test_guarded.py"
decode = In("gateway/buyers/decode.py")
roomasking = In("gateway/pages/static/core/roomasking.js")
join = In("gateway/pages/static/views/join.js")

MUTANTS: list[Mutant] = [
    decode(
        Kind.CONDITION,
        "an address that is none is refused in words for who typed it",
        """    if str(error).endswith("`$.email`"):\n""",
        "    if False:\n",
        f"{GUARDED}::test_an_address_for_mail_goes_with_the_join_and_nobody_else_sees_it",
    ),
    roomasking(
        Kind.CONDITION,
        "what is wrong with an address is said at its field",
        """kind === "mail" || code === "email_not_valid";""",
        """kind === "mail";""",
        f"{PAGE}::test_what_the_server_refuses_is_said_at_the_field",
    ),
    join(
        Kind.CONDITION,
        "the address that was named goes with the join",
        "room.join(code.trim(), email)",
        "room.join(code.trim())",
        f"{PAGE}::test_it_goes_with_the_join_and_is_remembered_nowhere_here",
    ),
]
