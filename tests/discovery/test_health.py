"""The local health of a node: when it doubts itself rather than its peers."""

from itertools import pairwise
from math import inf

import pytest

from mesh.discovery.health import WORST, Health
from mesh.discovery.member import NodeLife
from mesh.discovery.membership import DirectProbe, IndirectProbe, Membership
from tests.discovery.nodes import HERON, IBIS, asks, fates, membership, rumour, state, until, until_probe

SUSPECT, DEAD, ALIVE = NodeLife.SUSPECT, NodeLife.DEAD, NodeLife.ALIVE


def test_health_has_a_best_and_a_worst() -> None:
    health = Health()
    health.better()
    assert health.patience == 1
    health.worse(100)
    assert health.patience == WORST + 1
    health.better()
    assert health.patience == WORST


def gap(members: Membership, start: float) -> float:
    """Return the seconds between two probes."""
    probes = [at for at, result in until(members, start + 30.0) if isinstance(result, DirectProbe)]
    return round(probes[1] - probes[0], 6)


def test_who_gets_no_answer_from_helpers_either_grows_patient() -> None:
    gaps = []
    for helpers_answer in (True, False):
        members = membership("heron", "ibis", "stork")
        at, probe = until_probe(members, "heron")
        for _, ask in asks(members, at + 0.6) if helpers_answer else ():
            members.answered(ask.to, probe.number, False, (), at + 0.9)
        until(members, at + 1.05)
        assert state(members, "heron") is SUSPECT
        gaps.append(gap(members, at))
    assert gaps[0] == 1.0
    assert gaps[1] > 2.0


def test_answers_make_well_again() -> None:
    members = membership("heron")
    members.rumoured(HERON, tuple(rumour(DEAD, "me", 3, i) for i in range(4)), 1.0)
    starts: list[float] = []
    while len(starts) < 8:
        at, probe = until_probe(members, "heron", inf)
        members.answered(HERON, probe.number, True, (), at + 0.01)
        starts.append(at)
    assert [round(b - a, 3) for a, b in pairwise(starts)] == [5.0, 4.0, 3.0, 2.0, 1.0, 1.0, 1.0]


def test_who_is_known_to_be_dead_while_we_wait_for_its_answer_says_nothing_about_us() -> None:
    for wait, asked in [(0.2, 0), (0.6, 1)]:
        members = membership("heron", "ibis")
        at, _ = until_probe(members, "heron")
        results = [result for _, result in until(members, at + wait)]
        members.rumoured(IBIS, (rumour(DEAD),), at + wait)
        results += [result for _, result in until(members, at + 0.99)]
        assert sum(isinstance(result, IndirectProbe) for result in results) == asked
        assert gap(members, at + 0.99) == 1.0


def test_a_late_loop_blames_nobody() -> None:
    members = membership("heron", "ibis", "stork")
    at, _ = until_probe(members, "heron")
    members.postpone(30.0)
    assert members.tick(at + 30.4) == []
    assert members.deadline() == pytest.approx(at + 30.5)
    until(members, at + 30.9)
    assert state(members, "heron") is ALIVE
    until(members, at + 31.05)
    assert state(members, "heron") is SUSPECT


def test_a_late_loop_prolongs_a_suspicion() -> None:
    members = membership("heron", "ibis")
    members.rumoured(IBIS, (rumour(SUSPECT),), 10.0)
    members.postpone(30.0)
    [(dead, _)] = fates(members, 60.0)
    assert dead == pytest.approx(44.0)
