"""What bodies of operators' calls say of who acts and why; `access.said_by` puts it together with whose key
it is.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from store import audit

# Told in the description; checked by `store.audit`, for all who change something.
Who = Annotated[str, Meta(extra_json_schema={"maxLength": audit.WHO_LENGTH_MAX})]
Why = Annotated[str, Meta(extra_json_schema={"minLength": 1, "maxLength": audit.WHY_LENGTH_MAX})]
MayWhy = Annotated[str, Meta(extra_json_schema={"maxLength": audit.WHY_LENGTH_MAX})]


class Note(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Who says they change something, beside whose key it is, and why; both may be left out."""

    who: Who = ""
    why: MayWhy = ""


class Reason(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Why something is changed, and who says so, beside whose key it is."""

    who: Who = ""
    why: Why
