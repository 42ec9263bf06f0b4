"""Sites: each one is judged as a mesh, and all together with the excuses that they accept."""

from dataclasses import replace
from random import Random

import pytest

from tests.tools.simulator.checks.test_checks import history
from tests.tools.site_cases import (
    BEGAN,
    BOB_READS,
    BOBS,
    CROSSED,
    END,
    FACTS,
    LATE,
    LON,
    LOST,
    NYC,
    PARTED,
    RELAYED,
    S_THERE,
    SAW,
    SENT,
    STARTS,
    T_THERE,
    TWO,
    S,
    T,
    at_node,
    by_bob,
    given,
    ok,
    pub,
    read,
    saw,
    sees,
    taken,
)  # fmt: skip
from tools.simulator import sites
from tools.simulator.checks import CHECKS
from tools.simulator.checks.facts import Facts, Violation
from tools.simulator.checks.sites import is_anothers, within
from tools.simulator.history import Event
from tools.simulator.places import Place, Sends, destinations, path
from tools.simulator.world.weather import FAIR, HarshNetwork, Wire

ELSEWHERE = Event(1.0, "pub", "client bob", stream=T, first=1, last=1)


def broken(check: str, *events: Event) -> int:
    return len(CHECKS[check](history(tuple(sorted(events, key=lambda e: e.at))), FACTS))


def test_of_a_site_is_what_its_nodes_and_clients_did_with_what_was_published_there() -> None:
    own = (
        Event(1.0, "pub", "client ann", stream=S, first=1, last=1),
        Event(2.0, "accept", "a", stream=S, first=1, last=1),
        Event(3.0, "fault", "a", text="cut", to="b"),
        Event(4.0, "fault", "a", text="kill"),
        Event(5.0, "healed", ""),
        Event(6.0, "read", "client ann", stream=T, first=1),  # a retained value belongs to its publisher
    )
    others = (
        ELSEWHERE,
        Event(2.0, "accept", "a", stream=T, first=1, last=1),  # from the other site
        Event(2.0, "accept", "c", stream=S, first=1, last=1),
        Event(3.0, "fault", "LON", text="sites parted", to="NYC"),
        Event(3.0, "fault", "a", text="break", to="c"),
        Event(4.0, "crash", "c"),
    )
    kept = within(history((*own, *others)), FACTS.sites[0])
    assert tuple(kept.events) == own


@pytest.mark.parametrize(
    ("events", "found"),
    [
        ((saw("c", "LON", "ab"), saw("a", "NYC", "", "unreachable"), END), 1),
        ((saw("c", "LON", "ab"), saw("a", "NYC", "", "down"), END), 1),
        ((*SAW, saw("b", "NYC", "", "unreachable")), 0),  # as another gateway without a link
        ((*SAW, saw("b", "NYC", "cd")), 1),
        ((saw("c", "LON", "ab"), END), 1),
        ((END,), 2),
        ((), 0),  # the scenario ended earlier
    ],
)
def test_in_the_end_somebody_of_each_site_sees_each_other_one_as_it_is(
    events: tuple[Event, ...], found: int
) -> None:
    assert broken("S-views", *events) == found


AGAIN = Event(120.0, "over", "LON", text="sites parted", to="NYC")
C_ENDS = Event(99.0, "crash", "c", 1)


@pytest.mark.parametrize(
    ("events", "found"),
    [
        ((*BEGAN, PARTED, END), 2),
        ((*BEGAN, PARTED, AGAIN, END), 0),
        ((*BEGAN, PARTED, AGAIN, *LOST, END), 0),
        ((*BEGAN, PARTED, C_ENDS, LOST[0], END), 0),  # a lost gateway sees nothing
        ((*BEGAN, C_ENDS, END), 1),
        ((*BEGAN, C_ENDS, LOST[0], END), 0),
        ((*BEGAN, C_ENDS, Event(110.0, "start", "c", 2), END), 0),
        ((*BEGAN, Event(99.0, "crash", "b", 1), END), 0),  # no gateway
        ((*BEGAN, LOST[0], END), 1),  # without a fault
        ((*BEGAN, Event(101.0, "fault", "c", text="break", to="a"), LOST[0], END), 0),
        ((*BEGAN, Event(101.0, "fault", "b", text="kill"), LOST[0], END), 1),
        ((*BEGAN, sees(150.0, "a", "NYC", ""), END), 0),  # still up
    ],
)
def test_a_site_is_lost_when_it_cannot_be_reached_and_only_then(
    events: tuple[Event, ...], found: int
) -> None:
    assert broken("S-seen", *events) == found


def test_what_is_published_goes_where_its_site_sends_it() -> None:
    row = (
        Place("A", ("a",), ("a",), sends=(Sends("B", ("D",)),)),
        Place("B", ("b",), ("b",), sends=(Sends("A", ("D",)), Sends("C", topics=("k/#", "#")))),
        Place("C", ("c",), ("c",)),
    )
    assert destinations(row, "A", "D", "k/x") == {"B"}
    assert destinations(row, "A", "", "k/x") == frozenset()
    assert destinations(row, "B", "D", "k/x") == {"A", "C"}
    assert destinations(row, "B", "D", "__sys__x") == frozenset()
    assert destinations(row, "C", "D", "k/x") == frozenset()


def test_what_is_not_for_a_neighbour_goes_by_one() -> None:
    row = (
        Place("A", ("a",), ("a",), sends=(Sends("B"), Sends("C", via="B"), Sends("D", via="C"))),
        Place("B", ("b",), ("b",)),
    )
    assert [path(row, "A", to) for to in "BCDA"] == [["B"], ["B", "C"], ["B", "C", "D"], ["A"]]
    assert path(row, "B", "D") == ["D"]


def test_each_drawn_site_is_a_mesh_with_gateways_and_each_way_is_dialled_by_one_end_at_least() -> None:
    kinds = set()
    for seed in range(60):
        cast = sites.drawn(Random(seed), (2, 3))
        ways = {(place.name, sends.to): sends.dials for place in cast.sites for sends in place.sends}
        for place in cast.sites:
            kinds |= {(place.rules, len(place.gateways)), len(place.knows)}
            assert place.gateways and {*place.gateways} <= {*place.nodes} == {*cast.mates(place.nodes[0])}
            dialled = {site: bool(addresses) for site, addresses in cast.dialled(place).items()}
            assert dialled == {sends.to: sends.dials for sends in place.sends if not sends.via}
            kinds |= {sends.via for sends in place.sends}
            for other in cast.others(place):
                back = next(p for p in cast.sites if p.name == other.name).sends
                assert other.accepts in [
                    (each.domains, each.topics) for each in back if each.to == place.name
                ]
            assert all(node in place.nodes for nodes in place.masters.values() for node in nodes)
        far = {(place.name, sends.to) for place in cast.sites for sends in place.sends if sends.via}
        assert all(dials or ways[pair[::-1]] or pair in far for pair, dials in ways.items())
    assert kinds == {("plain", 1), ("plain", 2), ("drawn", 1), ("drawn", 2), 1, 2, "", "NYC"}


def test_a_wire_between_sites_is_another_one_and_is_cut_for_all_their_nodes() -> None:
    net, far = HarshNetwork(0), Wire(0.1, 0.2)
    net.lay_between({"a": "LON", "b": "LON", "c": "NYC", "d": "SFO"}, far)
    assert [net.wire(*pair) for pair in (("a", "b"), ("a", "c"), ("c", "b"))] == [FAIR, far, far]
    net.part("LON", "NYC")
    assert not net.passes("a", "c") and not net.passes("c", "b")
    assert net.passes("a", "b") and net.passes("a", "d") and net.passes("client x", "a")
    net.join("NYC", "LON")
    assert net.passes("a", "c")
    net.part("LON", "NYC")
    net.heal()
    assert net.passes("a", "c")


def test_facts_of_a_site_know_its_nodes_by_the_names_of_the_network() -> None:
    assert FACTS.sites[1].facts.uuids == {"c": (b"\x00\x03" * 8).hex()}
    assert (LON.knows, NYC.knows) == (("NYC",), ("LON",))


@pytest.mark.parametrize(
    ("events", "found"),
    [
        (tuple(e for e in SENT if e.kind != "answer"), 0),  # no answer arrived
        ((pub(), ok(pub(), text="STORE_FULL")), 0),
        ((pub(flags=""), ok(pub())), 0),
        ((*RELAYED, Event(60.0, "buried", "c", stream=S_THERE, first=1, text="FORGED_SENDER")), 1),  # sent on
        ((*RELAYED, at_node(pub(), "accept", "c", S_THERE, at=60.0)), 1),
        ((*RELAYED, *taken(pub(), T_THERE, "a")), 1),  # no client sent it
        ((by_bob(pub()), ok(by_bob(pub())), *taken(by_bob(pub()), T, "c")), 1),
        ((by_bob(pub()), ok(by_bob(pub())), *taken(by_bob(pub()), T_THERE, "a")), 0),
        ((by_bob(pub(key="j")), ok(by_bob(pub())), *taken(by_bob(pub()), T, "c")), 0),  # LON has no part
        ((by_bob(pub(key="j")), *taken(by_bob(pub(key="j")), T_THERE, "a")), 2),
        ((by_bob(pub()), ok(by_bob(pub())), *taken(by_bob(pub()), T_THERE, "b")), 1),  # that is no gateway
    ],
)
def test_C6_1_what_another_site_gets_is_taken_there_once_and_nothing_else_is(
    events: tuple[Event, ...], found: int
) -> None:
    assert broken("C6.1", *events) == found


@pytest.mark.parametrize(
    ("check", "events", "found"),
    [
        ("S-sender", (*BOB_READS, pub(), given(pub()), given(pub(), at=60.0)), 1),  # twice
        ("S-sender", (*BOB_READS, pub(), pub(2), given(replace(pub(), text="y"))), 1),
        ("S-sender", (*BOB_READS, given(pub())), 0),  # another law's violation
        ("S-arrives", (*BOB_READS, pub(flags=""), ok(pub()), Event(60.0, "crash", "a", 1)), 0),
        ("S-arrives", (*BOB_READS, *SENT, Event(60.0, "gap", "client bob", sub=1, gap=1)), 0),
        ("S-order", (*BOB_READS, *TWO, given(pub(2)), given(pub(), at=54.0), END), 1),
        ("S-conflict", (*TWO, read(pub(2), "b", S), read(pub(), "b", S), read(pub(2), "c", S_THERE)), 1),
        ("S-conflict", (pub(flags=""), pub(2), Event(60.0, "crash", "c", 1),
                        read(pub(2), "b", S), read(pub(), "c", S_THERE)), 0),
        ("S-conflict", (*TWO, at_node(pub(2), "accept", "a", S), at_node(pub(2), "accept", "b", S, stamp=9),
                        read(pub(2), "b", S), read(pub(), "c", S_THERE)), 0),  # it was divided twice
        ("S-conflict", (Event(60.0, "fault", "b", text="clock"), *TWO,
                        read(pub(2), "b", S), read(pub(), "c", S_THERE)), 0),
        ("S-conflict", (*TWO[:3], ok(pub(2), text="PARTLY_REFUSED"),
                        read(pub(2), "b", S), read(pub(), "c", S_THERE)), 0),
        ("S-conflict", (pub(3), ok(pub(3), text="PARTLY_REFUSED"), *TWO,
                        read(pub(2), "b", S), read(pub(), "c", S_THERE)), 1),  # another message was
        ("S-conflict", (by_bob(pub(key="j")), by_bob(pub(2, key="j")), read(pub(2, key="j"), "b", T_THERE),
                        read(pub(key="j"), "c", T)), 0),  # LON requests none of those
        ("S-kept", (by_bob(pub()), BOBS, pub(), replace(LATE, at=60.0)), 0),  # it may not be on disk yet
        ("S-kept", (*CROSSED, replace(LATE, at=90.0, stamp=7)), 1),  # known at home to be older
        ("S-kept", (*CROSSED[:3], replace(BOBS, at=79.0, stamp=10), LATE), 1),
        ("S-kept", (by_bob(pub()), replace(BOBS, stamp=7), pub(), replace(BOBS, at=79.0), LATE), 0),
        ("S-kept", (by_bob(pub()), replace(BOBS, boot=0), pub(), LATE), 0),  # another process had it
        ("S-kept", (*CROSSED[:3], Event(70.0, "fault", "c", text="clock"), LATE), 0),
        ("S-kept", (*CROSSED[:3], replace(BOBS, at=70.0, flags="pe"), LATE), 0),  # it was erased
        ("C6.3", (*STARTS, Event(190.0, "fault", "b", text="kill"), pub(at=200.0), ok(pub(), at=206.0)), 0),
        ("C6.3", (*STARTS, pub(at=200.0), END), 1),
    ],
)  # fmt: skip
def test_each_law_of_several_sites_knows_its_excuses(
    check: str, events: tuple[Event, ...], found: int
) -> None:
    assert broken(check, *events) == found


def test_a_last_value_of_another_site_is_judged_with_all_sites() -> None:
    history_ = history((pub(), by_bob(pub())))
    shown = [Violation("V2", "", (read(pub(), "b", stream),)) for stream in (S, T_THERE)]
    assert [is_anothers(each, FACTS.sites[0], history_) for each in shown] == [False, True]


def test_last_values_of_a_site_are_not_judged_alone_while_a_clock_of_another_one_is_wrong() -> None:
    shown = Violation("V2", "", (read(pub(), "b", S),))
    told = [history((pub(), Event(60.0, "fault", who, text="clock"))) for who in "ac"]
    assert [is_anothers(shown, FACTS.sites[0], each) for each in told] == [False, True]


def test_a_gap_after_a_fault_of_another_site_may_be_of_what_came_late_from_there() -> None:
    gap = Violation("C1.5", "", (Event(60.0, "gap", "client bob", sub=1, gap=1),))
    told = [history((Event(at, "crash", "a", 1),)) for at in (50.0, 70.0)]
    assert [is_anothers(gap, FACTS.sites[1], each) for each in (*told, history(()))] == [True, False, False]


def test_what_one_of_several_masters_sends_late_is_excused_after_a_fault_only() -> None:
    lon = replace(FACTS.sites[0], facts=Facts(LON.nodes, {"D": ("a", "b")}, "drawn"))
    events = (*BOB_READS, *TWO, given(pub(2)), given(pub(), at=54.0))
    for faults, found in (((), 1), ((Event(45.0, "fault", "a", text="kill"),), 0)):
        told = history(tuple(sorted((*events, *faults), key=lambda e: e.at)))
        assert len(CHECKS["S-order"](told, replace(FACTS, sites=(lon, FACTS.sites[1])))) == found
