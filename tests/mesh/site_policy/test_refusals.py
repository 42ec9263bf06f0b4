"""The refusals of another site that are not final."""

import pytest

from mesh.site_policy.refusals import goes_again, is_for_now
from tests.each import each


def test_to_those_of_this_site_a_refusal_is_a_last_word() -> None:
    assert is_for_now("/site/LON/node/heron/client/joe/session/1", "STORE_FULL")
    assert not is_for_now("/node/heron/client/joe/session/1", "STORE_FULL")
    assert not is_for_now("/site/LON/node/heron/client/joe/session/1", "NO_RIGHT")


@pytest.mark.parametrize("state", ["SITE_UNREACHABLE", "TAILBACK_FULL", "CLOCK_AHEAD"])
def test_of_what_may_have_come_there_a_refusal_of_its_way_is_no_last_word(state: str) -> None:
    assert goes_again(state, True) and not goes_again(state, False)


@each("state", ["OK", "NO_RIGHT", "UNKNOWN_NODE", "NOT_CONNECTED", "FORWARD_WARNING"])
def test_what_has_no_leave_or_no_node_is_told_so_though_the_line_was_lost_meanwhile(state: str) -> None:
    assert not goes_again(state, True)
    assert goes_again("WAY_LOST", False)
