"""A reply is lost while both sides live: what was sent happened once, and everybody is answered."""

from __future__ import annotations

import pytest

from tests.faults.stage import APPEND, COMMIT, REQUEST_ROW, Sale, Stage, until

pytestmark = pytest.mark.faults


def test_a_reply_to_commit_that_is_cut_doubles_no_decision(stage: Stage, sale: Sale):
    crowd = sale.desk.crowd(16)
    for half_open in (False, True):
        crowd.wait(60)
        proxy = stage.postgres_of[sale.owner()]
        proxy.cut_reply_to(COMMIT, after=REQUEST_ROW, half_open=half_open)
        assert proxy.was_cut.wait(10)
    crowd.wait(60)
    sale.check()


def test_a_reply_to_an_append_that_is_cut_doubles_no_request(stage: Stage, sale: Sale):
    crowd = sale.desk.crowd(16)
    for gateway in ("gateway-1", "gateway-2"):
        crowd.wait(60)
        said_before = len(stage.log(gateway))
        proxy = stage.valkey_of[gateway]
        proxy.cut_reply_to(APPEND)
        assert proxy.was_cut.wait(10)
        until(
            lambda: "got no answer" in stage.log(gateway)[said_before:],  # noqa: B023 - called at once
            "the gateway notices",
        )
    crowd.wait(60)
    sale.check()
