"""Names in other sites, and which refusals of a letter are final."""

import pytest

from mesh.errors import BadName
from mesh.sites.letters import goes_again, split
from tests.each import each


@pytest.mark.parametrize("state", ["SITE_UNREACHABLE", "TAILBACK_FULL", "CLOCK_AHEAD"])
def test_of_what_may_have_come_there_a_refusal_of_its_way_is_no_last_word(state: str) -> None:
    assert goes_again(state, True) and not goes_again(state, False)


@each("state", ["OK", "NO_RIGHT", "UNKNOWN_NODE", "NOT_CONNECTED", "FORWARD_WARNING"])
def test_what_has_no_leave_or_no_node_is_told_so_though_the_line_was_lost_meanwhile(state: str) -> None:
    assert not goes_again(state, True)
    assert goes_again("WAY_LOST", False)


@pytest.mark.parametrize(
    ("to", "site", "rest"),
    [
        ("/site/NYC/node/gull/client/ann", "NYC", "/node/gull/client/ann"),
        ("/site/NYC/calc/add", "NYC", "calc/add"),
        ("/node/gull/client/ann", "", "/node/gull/client/ann"),
        ("client/ann", "", "client/ann"),
        ("nodes/x", "", "nodes/x"),
    ],
)
def test_a_name_is_split_into_its_site_and_its_name_there(to: str, site: str, rest: str) -> None:
    assert split(to) == (site, rest)


@each("to", ["/site/NYC", "/site/NYC/", "/site//x", "/site/N Y/x"])
def test_a_name_of_nobody_in_another_site_is_refused(to: str) -> None:
    with pytest.raises(BadName):
        split(to)
