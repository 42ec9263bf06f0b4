"""The route of a message from site to site, and the marks that it keeps."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from mesh.errors import BadName
from mesh.features.sites.node.passing import in_runs, leaving
from mesh.hops import in_site, leg_of, parse_hop, visited
from mesh.values import Hop
from mesh.wire.envelope import FIRST, INITIAL, PERSISTENT, REQUEST, Envelope
from tests.mesh.envelopes import envelope

JOE = "/node/bilbo/client/joe/session/1"


def taken_by(node: str, it: Envelope | None = None) -> Envelope:
    """Return the envelope as the master `node` has accepted it."""
    it = it or replace(envelope("STOCK/1", first=7, low=3, persistent=True), sender=JOE)
    return it.mastered(5, Hop(node, 0, 9))


def test_it_leaves_with_the_session_and_the_nodes_of_its_site() -> None:
    it = leaving(taken_by("heron"), "LON", 6, gateway=Hop("heron", 0, 10))
    assert it.sender == f"/site/LON{JOE}"
    assert [(hop.node, hop.stratum) for hop in it.route] == [("site:LON/heron", 0), ("site:LON/heron", 1)]
    assert (it.low, it.sent, it.keys, it.flags) == (6, 5, ("STOCK/1",), PERSISTENT)


def test_what_it_promises_is_never_above_its_own_number() -> None:
    assert leaving(taken_by("heron"), "LON", 900).low == 7


def test_by_a_second_site_it_keeps_its_sender_and_both_are_visited() -> None:
    there = leaving(taken_by("heron"), "LON", 7)
    there = taken_by("frodo", replace(there, route=(*there.route, Hop("frodo", 0, 11))))
    further = leaving(there, "NET1", 2, gateway=Hop("sam", 0, 12))
    assert further.sender == f"/site/LON{JOE}"
    assert visited(further.route) == ["LON", "NET1"]
    assert leg_of(further.route) == b"NET1/frodo"


def test_who_only_passes_it_on_between_sites_keeps_it_for_nobody() -> None:
    passing = leaving(leaving(taken_by("heron"), "LON", 7), "NET1", 7, gateway=Hop("sam", 0, 12))
    assert leg_of(passing.route) == b"LON/heron"


def test_within_a_site_its_own_nodes_are_no_leg() -> None:
    there = leaving(taken_by("heron"), "LON", 7)
    assert leg_of((*there.route, Hop("heron", 0, 12))) == b"LON/heron"
    assert leg_of((Hop("heron", 0, 12),)) == b""


def test_a_site_that_is_come_to_twice_is_told_twice() -> None:
    hops = [Hop(in_site(site, "heron"), 0, 1) for site in ("LON", "LON", "NYC", "LON")]
    assert visited((*hops, Hop("site:LON", 0, 1))) == ["LON", "NYC", "LON"]


def test_marks_that_mean_something_at_home_only_stay_there() -> None:
    it = replace(taken_by("heron"), flags=PERSISTENT | FIRST | INITIAL | REQUEST | 2**40)
    assert leaving(it, "LON", 1).flags == PERSISTENT


@pytest.mark.parametrize(
    "text", ["", "site:/x", "site:LON/", "site:a/b/c", "LON/heron", "a b", "site:\ud800/x", "site:x/\n"]
)
def test_what_no_gateway_writes_is_no_hop(text: str) -> None:
    with pytest.raises(BadName):
        parse_hop(text)


def test_a_node_may_be_called_like_a_site() -> None:
    assert parse_hop("site:LON") == ("", "site:LON")


@given(st.sets(st.integers(0, 11), min_size=1))
def test_what_a_site_wants_of_an_envelope_comes_in_runs_without_holes(wanted: set[int]) -> None:
    words = [f"k{i % 5}" for i in range(12)]
    whole = envelope(" ".join(words), [str(i).encode() for i in range(12)], first=4, low=4)
    runs = in_runs(whole.cut(sorted(wanted)))
    found = {}
    for run in runs:
        assert not run.numbers and run.last - run.first + 1 == run.count and run.low <= run.first
        for i in range(run.count):
            start, end = run.slice(i)
            found[run.number(i)] = (run.keys[run.row(i)], run.body[start:end])
    assert found == {4 + i: (words[i], str(i).encode()) for i in wanted}
    assert all(b.first > a.last + 1 for a, b in pairwise(runs))
