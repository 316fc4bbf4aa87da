"""A reply is lost while both sides live: what was sent happened once, and everybody is answered."""

from __future__ import annotations

import pytest

from tests.faults.stage import APPEND, COMMIT, REQUEST_ROW, Sale, Stage, until

pytestmark = pytest.mark.faults


def test_a_commit_of_which_nothing_is_heard_doubles_no_decision_and_invents_none(stage: Stage, sale: Sale):
    crowd = sale.desk.crowd(16)
    for arrives, half_open in ((True, False), (True, True), (False, True)):
        crowd.wait(40)
        proxy = stage.postgres_of[sale.owner()]
        cut = proxy.cut_reply_to if arrives else proxy.cut_before
        cut(COMMIT, after=REQUEST_ROW, half_open=half_open)
        assert proxy.was_cut.wait(60)
    crowd.wait(40)
    sale.check()


def test_an_append_of_which_nothing_is_heard_doubles_no_request_and_loses_none(stage: Stage, sale: Sale):
    crowd = sale.desk.crowd(16)
    for gateway, arrives in (("gateway-1", True), ("gateway-2", False)):
        crowd.wait(40)
        said_before = len(stage.log(gateway))
        proxy = stage.valkey_of[gateway]
        (proxy.cut_reply_to if arrives else proxy.cut_before)(APPEND)
        assert proxy.was_cut.wait(60)
        until(
            lambda: "got no answer" in stage.log(gateway)[said_before:],  # noqa: B023 - called at once
            "the gateway notices",
        )
    crowd.wait(40)
    sale.check()
