"""Places in other sites: when a client may go there, and which session it has there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from mesh.client.access import Access
from mesh.client.core.calls import Pending
from mesh.client.core.client_handshake import ClientHandshake
from mesh.client.core.known_nodes import KnownNode
from mesh.client.core.node_choice import BROWSE, NodeChoice
from mesh.client.core.places import LEAVE, OtherSites, Place, Source
from mesh.client.core.visits import ClientVisits
from mesh.security.streamkey import StreamKey
from mesh.wire import commands as c
from mesh.wire.limits import VISITS
from tests.mesh.client.core.test_node_choice import ADDRESSES, DEAD, welcome

NYC = ("NYC", (ADDRESSES[5], "ipc:///elsewhere", "tcp://host:1"))
KEY = StreamKey(bytes(32))
MARK = frozenset({VISITS})


def lost_at_ten(is_allowed: Callable[[Place], bool] = lambda place: True) -> NodeChoice:
    """Return the choice of a client that named heron and stork, and lost heron at 10 s."""
    choice = NodeChoice(("heron", "stork"), bytes(16), lambda: 0.5, is_allowed)
    choice.begin(0.0)
    choice.on_welcome(0.0, replace(welcome(), sites=(NYC, ("N Y", (ADDRESSES[6],)))))
    choice.on_lost(10.0)
    return choice


def dialed(choice: NodeChoice, now: float, count: int) -> list[tuple[str, str]]:
    """Return the next places with their sites, each of which fails."""
    found = []
    for _ in range(count):
        place = choice.next_step(now, 0.0).place
        found.append((place.text, place.site))
        choice.on_failed(DEAD)
    return found


def test_law_1_another_site_is_dialed_last_and_after_a_whole_round() -> None:
    choice = lost_at_ten()
    own = [("heron", ""), ("stork", "")]
    first = dialed(choice, 10.0 + LEAVE - 0.1, 6)
    assert sorted(set(first)) == own, "before LEAVE"
    again = dialed(choice, 10.0 + LEAVE, 3)
    assert sorted(again[:2]) == own and again[2] == (ADDRESSES[5], "NYC")
    late = lost_at_ten()
    assert sorted(set(dialed(late, 10.0 + LEAVE, 2))) == own, "the first round, even if it is late"


def test_a_client_that_may_not_leave_its_site_stays() -> None:
    choice = lost_at_ten(lambda place: not place.site)
    assert {site for _, site in dialed(choice, 100.0, 12)} == {""}


def test_in_another_site_its_nodes_come_first_and_law_2_only_the_first_site_names_others() -> None:
    choice = lost_at_ten()
    while choice.next_step(100.0, 0.0).place.site != "NYC":
        choice.on_failed(DEAD)
    choice.on_welcome(100.0, replace(welcome(2, 3), sites=(("LON", (ADDRESSES[7],)),)))
    choice.on_lost(200.0)
    assert choice.next_step(200.0, 0.0).place == Place(ADDRESSES[5], Source.OWN, site="NYC")
    first = dialed(choice, 202.0, 4)
    assert first[:3] == [(ADDRESSES[3], "NYC"), ("heron", ""), ("stork", "")]
    assert all(ADDRESSES[7] != text for text, _ in dialed(choice, 300.0, 12))


def test_a_client_of_several_nodes_searches_once_all_have_failed_and_dials_what_it_finds() -> None:
    choice = NodeChoice(("heron", "stork"), bytes(16), lambda: 0.5)
    choice.begin(0.0)
    choice.on_failed(DEAD)
    assert not choice.begin_browsing(0.0), "stork is left, and this shell cannot search"
    choice.next_step(0.0, 0.0)
    choice.on_failed(DEAD)
    assert not choice.begin_browsing(0.0), "this shell cannot search"
    choice.can_browse = True
    assert choice.begin_browsing(0.0) and not choice.begin_browsing(0.0)
    assert not choice.is_last and not choice.is_over("NO_NODE"), "while the search runs"
    choice.on_browsed([KnownNode("egret", (ADDRESSES[3],), b"k" * 32)])
    assert dialed(choice, 1.0, 3)[2] == (ADDRESSES[3], "")
    assert choice.last == Place(ADDRESSES[3], Source.BROWSED, b"k" * 32)
    assert not choice.begin_browsing(BROWSE - 1) and choice.begin_browsing(BROWSE)


def test_a_lost_client_does_not_search_before_it_has_dialed_other_nodes() -> None:
    choice = lost_at_ten()
    choice.can_browse = True
    assert choice.next_step(10.0, 0.0).place.source is Source.OWN
    choice.on_failed(DEAD)
    assert not choice.begin_browsing(10.0)
    dialed(choice, 12.0, 2)
    assert choice.begin_browsing(12.0)


def test_a_client_that_named_one_node_does_not_search() -> None:
    choice = NodeChoice(("heron",), bytes(16), lambda: 0.5)
    choice.can_browse = True
    choice.begin(0.0)
    choice.on_failed(DEAD)
    assert choice.is_last and not choice.begin_browsing(0.0)


def test_sites_with_wrong_names_and_more_than_sixteen_are_left_out() -> None:
    sites = OtherSites()
    sites.on_welcome("", [(f"S{n}", (ADDRESSES[0],)) for n in range(20)] + [NYC])
    assert [place.site for place in sites.places(LEAVE, 2)] == [f"S{n}" for n in range(16)]


# --- the session there --------------------------------------------------------------------------------


def arrived(handshake: ClientHandshake, site: str, session: str, token: bytes) -> c.Hello:
    """Let a node of the site accept the client, and return the HELLO that it got."""
    handshake.begin_handshake(Access(ADDRESSES[0]), b"", is_visit=True, site=site)
    hello = handshake.hello(9)
    node = c.Introduction(session[6:9].encode() * 4, session[6:9], 3, ADDRESSES[0])
    w = c.Welcome(2, node, "lab", session=session, token=token, speaks=(VISITS,))
    assert handshake.adopt_session(w)
    return hello


@pytest.mark.parametrize("number", [0, 7])
def test_law_3_of_the_handshake_a_token_is_presented_only_in_its_site(number: int) -> None:
    handshake = ClientHandshake(("joe", number, True), KEY, has_others=True)
    lon, nyc = "/node/lon/client/joe/session/5", "/node/nyc/client/joe/session/6"
    arrived(handshake, "", lon, b"of LON")
    handshake.record_visit(4)
    hello = arrived(handshake, "NYC", nyc, b"of NYC")
    assert (hello.session, hello.token, hello.home, hello.attach) == (number, b"", "", 0)
    assert (hello.boot_seen, hello.have, handshake.site) == (0, 0, "NYC")
    hello = arrived(handshake, "", lon, b"of LON")
    assert (hello.session, hello.token, hello.home, hello.attach) == (5, b"of LON", "lon", 4)
    assert (hello.boot_seen, hello.have) == (0, 0)


def test_only_a_client_that_named_several_nodes_leaves_its_site() -> None:
    place, node = Place(ADDRESSES[5], Source.SITE, site="NYC"), ClientHandshake(("joe", 0, True), KEY)
    assert not node.may_visit(place), "it waits for its node"
    several = ClientHandshake(("joe", 0, True), KEY, has_others=True)
    assert several.may_visit(place)
    arrived(several, "NYC", "/node/nyc/client/joe/session/6", b"of NYC")
    assert several.may_visit(Place("heron", Source.NAMED))


class FakeCalls:
    """The attach calls that are open."""

    def __init__(self) -> None:
        self.open: list[Pending] = []

    def send_command(self, make: Callable[[int], c.Command], then: object) -> Pending:
        pending = Pending(1, make(1), None, None)  # type: ignore[arg-type]
        self.open.append(pending)
        return pending

    def drop_pending(self, pending: Pending) -> None:
        self.open.remove(pending)


def test_law_3_of_the_visits_what_was_asked_in_one_site_is_not_asked_in_another() -> None:
    calls: Any = FakeCalls()
    visits = ClientVisits(calls, KEY, list)
    lon, two, nyc = (c.Introduction(name * 4, "n", 1, ADDRESSES[0]) for name in (b"lon0", b"lon1", b"nyc0"))
    name = "/node/lon/client/joe/session/5"
    assert not visits.on_welcome(lon, name, MARK)
    assert visits.on_welcome(two, name, MARK) and len(calls.open) == 1
    assert not visits.on_welcome(nyc, "/node/nyc/client/joe/session/6", MARK, "NYC")
    assert (calls.open, visits.former, visits.attach) == ([], {}, 0)
    assert visits.on_welcome(lon, name, MARK)
    assert (list(visits.former), visits.attach) == ([two.uuid], 2)


def test_a_node_that_may_not_have_received_a_visit_gets_its_subscriptions_again() -> None:
    calls: Any = FakeCalls()
    visits = ClientVisits(calls, KEY, lambda: [(3, 0), (4, 0)])
    one, two = (c.Introduction(name * 4, "n", 1, ADDRESSES[0]) for name in (b"one0", b"two0"))
    name = "/node/one/client/joe/session/5"
    assert not visits.on_welcome(one, name, MARK)
    for is_visit in (True, False):
        assert visits.on_welcome(two, name, MARK) is is_visit
        [pending] = calls.open
        assert pending.command.arguments["subscriptions"] == [3, 4]
        assert visits.attach == 1
