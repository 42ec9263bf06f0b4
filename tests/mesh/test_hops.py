"""The sites in the route of a message, and its leg, the last master in another site."""

import pytest

from mesh.errors import BadName
from mesh.hops import in_site, inside, is_foreign, is_of, leg_of, parse_hop, site_of, visited
from mesh.values import Hop, Route


def route(*hops: tuple[str, int]) -> Route:
    return tuple(Hop(node, stratum, 1) for node, stratum in hops)


def test_a_hop_of_another_site_names_both_and_one_of_this_site_only_the_node() -> None:
    assert parse_hop(in_site("LON", "heron")) == ("LON", "heron")
    assert parse_hop("heron") == ("", "heron")
    for wrong in ("site:LON/", "site:/heron", "he/ron", "site:LON/he ron"):
        with pytest.raises(BadName):
            parse_hop(wrong)


def test_a_site_is_visited_once_each_time_that_a_message_enters_it() -> None:
    hops = route(("site:LON/a", 0), ("site:LON/b", 1), ("site:NYC/c", 0), ("site:LON/a", 1), ("d", 0))
    assert visited(hops) == ["LON", "NYC", "LON"]
    assert inside(hops) == hops[-1:] and inside(hops[-1:]) == hops[-1:] and inside(()) == ()


def test_the_leg_is_the_last_master_in_another_site() -> None:
    hops = route(("site:LON/a", 0), ("site:NYC/b", 0), ("site:NYC/c", 1), ("d", 0))
    assert leg_of(hops) == b"NYC/b" and leg_of(hops, is_letter=True) == b"NYC/b/letters"
    assert leg_of(route(("site:LON/a", 1), ("d", 0))) == leg_of(()) == b""


def test_a_session_of_another_site_is_foreign() -> None:
    sender = "/site/LON/node/heron/client/joe/session/1"
    assert is_of("LON", sender) and not is_of("LO", sender) and is_foreign(sender)
    assert site_of(sender, "NYC") == "LON" and site_of("/node/gull/client/ann", "NYC") == "NYC"
