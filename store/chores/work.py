"""Whether a chore would find anything to do, by the statements it finds its work with.

Who asks this begins no run for nothing: a run costs a process, connections and, in a Redis that keeps every
write, a good dozen of them.
"""

from __future__ import annotations

from typing import Final

from store import mail
from store.calling_off import steps
from store.payments import ending, late, refunds

FINDS: Final = {
    "payments": (ending.ALMOST_OVER, ending.OVER, ending.TO_END, ending.UNHEARD),
    "refunds": (refunds.DUE,),
    "late": (late.FIND_LATE,),
    "mail": (mail.UNREAD, mail.DUE),
    "calling-off": (steps.RUNNING,),
}
"""By chore. Of one that is not named here nobody knows before it runs."""
VALUES: Final = {"after": 0, "limit": 1}
"""What these statements ask for."""


def _any(finds: tuple[str, ...]) -> str:
    return " OR ".join([f"EXISTS ({find})" for find in finds])


THERE_IS: Final = (
    "CASE chore "
    + "\n".join([f"WHEN '{chore}' THEN {_any(finds)}" for chore, finds in FINDS.items()])
    + " ELSE true END"
)
"""The condition of a row of `chore_run`, with `VALUES`."""
