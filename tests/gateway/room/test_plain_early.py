"""The plain page before anybody can join: from when one can, and when the sale begins."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from gateway.pages import plain_join
from gateway.pages.plain_html import Words

NOW = 1_924_880_400_000
MINUTE = 60_000


def told(lobby_opens_at: int | None, opens_at: int | None) -> str:
    room = {"phase": "draft", "at": NOW, "lobby_opens_at": lobby_opens_at, "opens_at": opens_at}
    seen: Any = SimpleNamespace(room=room, place=None, state="")
    form: Any = None
    return plain_join.outside(seen, form, Words({}))


def test_it_says_from_when_one_can_join_and_when_the_sale_begins():
    page = told(NOW + 5 * MINUTE, NOW + 65 * MINUTE)
    assert "You can join in" in page
    assert "5 minutes" in page
    assert "The sale begins: " in page
    assert "<form" not in page


def test_a_lobby_that_is_due_begins_any_moment():
    assert "Any moment now" in told(NOW - 1, None)


@pytest.mark.parametrize(("opens_at", "says"), [(None, False), (NOW + 5 * MINUTE, True)])
def test_where_somebody_opens_the_lobby_it_says_when_the_sale_begins_if_that_is_known(opens_at, says):
    page = told(None, opens_at)
    assert "You can join" not in page
    assert ("Begins in" in page) is says
