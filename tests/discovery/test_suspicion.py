"""The length of a suspicion, and what ends it."""

import pytest

from mesh.discovery.member import NodeLife, SuspicionRefuted
from mesh.discovery.membership import Inform, SwimTiming
from mesh.discovery.suspicion import Suspicion
from tests.discovery.nodes import HERON, IBIS, ME, STORK, fates, membership, rumour, until, until_probe

SUSPECT, DEAD, ALIVE = NodeLife.SUSPECT, NodeLife.DEAD, NodeLife.ALIVE


def test_with_fewer_than_four_nodes_a_suspicion_waits_for_no_confirmation() -> None:
    members = membership("heron", "ibis")
    (suspected, first), (dead, second) = fates(members, 20.0)
    assert (first, second) == ("Suspected", "Dead")
    assert round(dead - suspected, 6) == 4.0


def test_with_more_an_unconfirmed_suspicion_lasts_three_times_as_long() -> None:
    members = membership("heron", "ibis", "stork", "egret")
    (suspected, _), (dead, _) = fates(members, 40.0)
    assert round(dead - suspected, 6) == 12.0


def test_each_confirmation_of_another_one_makes_a_suspicion_shorter() -> None:
    suspicion = Suspicion(SwimTiming(), 5, began=100.0, accuser=IBIS)
    ends = [suspicion.ends]
    for accuser, counts in [(IBIS, False), (STORK, True), (STORK, False), (b"e", True), (b"g", False)]:
        assert suspicion.add_accuser(accuser) is counts
        ends.append(suspicion.ends)
    assert (ends[0], ends[-1]) == (112.0, 104.0)
    assert ends == [112.0, 112.0, ends[2], ends[2], 104.0, 104.0]
    assert 104.0 < ends[2] < 108.0


def test_whom_others_accuse_as_well_is_dead_sooner() -> None:
    ends = []
    for accusers in (["ibis"], ["ibis", "stork", "egret"]):
        members = membership("heron", "ibis", "stork", "egret")
        members.rumoured(IBIS, tuple(rumour(SUSPECT, by=name) for name in accusers), 3.0)
        ends.append(fates(members, 60.0)[-1])
    assert ends[1] == (7.0, "Dead")
    assert ends[0] > ends[1]


def test_a_suspicion_lasts_longer_among_many_for_a_rumour_takes_longer() -> None:
    timing = SwimTiming()
    assert timing.suspicion(3, 0) == timing.suspicion(10, 2) == 4.0
    assert timing.suspicion(1000, 2) == pytest.approx(12.0)
    assert timing.suspicion(1000, 0) == pytest.approx(36.0)
    assert SwimTiming(period=0.5).suspicion(1000, 2) == pytest.approx(6.0)


def test_a_suspect_that_speaks_is_trusted_and_told_to_deny_it_to_the_others() -> None:
    members = membership("heron", "ibis", "stork")
    members.rumoured(IBIS, (rumour(SUSPECT),), 9.0)
    trusted, told = members.on_message(HERON, 10.0)
    assert isinstance(trusted, SuspicionRefuted)
    assert trusted.member.state is ALIVE
    assert told == Inform(HERON, (rumour(SUSPECT),))
    assert members.on_message(HERON, 10.1) == []
    _, probe = until_probe(members, "stork")
    assert {rumour.state for rumour in probe.rumours} == {ALIVE}  # the refuted rumor is not spread
    assert fates(members, 10.9) == []


def test_a_suspect_hears_of_it_first_when_it_is_probed() -> None:
    members = membership("heron", "ibis", "stork")
    members.rumoured(IBIS, (rumour(SUSPECT), rumour(DEAD, "gull"), rumour(DEAD, "tern")), 9.0)
    _, probe = until_probe(members, "heron")
    assert probe.rumours[0] == rumour(SUSPECT)
    assert [r.node.uuid for r in probe.rumours].count(HERON) == 1


def test_what_we_conclude_ourselves_is_told_to_some_at_once() -> None:
    members = membership("heron", "ibis", "stork", "egret", "gull")
    at, _ = until_probe(members, "heron")
    tells = [(when, r) for when, r in until(members, at + 1.05) if isinstance(r, Inform)]
    assert {round(when - at, 6) for when, _ in tells} == {1.0}
    assert len({tell.to for _, tell in tells} - {HERON}) == 3
    assert all(tell.rumours[0].state is SUSPECT and tell.rumours[0].by == ME.uuid for _, tell in tells)
