from itertools import pairwise

import pytest

from mesh.discovery.member import Dead, NodeLife, Suspected
from mesh.discovery.membership import DialProbe, DirectProbe, IndirectProbe, Lives, Membership, Spread
from tests.discovery.nodes import (
    AT,
    HERON,
    IBIS,
    ME,
    STORK,
    Results,
    asks,
    crowd,
    fates,
    kinds,
    membership,
    node,
    rumour,
    state,
    until,
    until_probe,
    uuid,
)

SUSPECT, DEAD, ALIVE = NodeLife.SUSPECT, NodeLife.DEAD, NodeLife.ALIVE


# --- probes -------------------------------------------------------------------------------------------------


def test_who_is_alone_has_nothing_to_do() -> None:
    members = membership()
    members.sight(node("heron"), "mdns", 0.0)
    until(members, 600.0)
    assert members.deadline() > 600.0


def test_each_node_is_probed_once_a_round_one_each_period() -> None:
    members = membership(*"abcdefg")
    probes: list[tuple[float, bytes]] = []
    while len(probes) < 21:
        due = members.deadline()
        for result in members.tick(due):
            assert isinstance(result, DirectProbe)
            assert result.to == result.uuid
            probes.append((due, result.to))
            members.answered(result.to, result.number, True, (), due)
    starts = [at for at, _ in probes]
    assert [round(b - a, 6) for a, b in pairwise(starts)] == [1.0] * 20
    rounds = [[to for _, to in probes[i : i + 7]] for i in (0, 7, 14)]
    assert all(len(set(r)) == 7 for r in rounds)
    assert rounds[0] != rounds[1]


def test_an_answer_in_time_leaves_no_trace() -> None:
    members = membership("heron", "ibis", "stork")
    at, probe = until_probe(members, "heron")
    assert members.answered(HERON, probe.number, True, (), at + 0.1) == []
    assert asks(members, at + 0.9) == []
    assert state(members, "heron") is ALIVE


def test_who_does_not_answer_within_half_a_period_is_asked_for_through_others() -> None:
    members = membership("heron", "ibis", "stork")
    at, _ = until_probe(members, "heron")
    helpers = asks(members, at + 0.6)
    assert {round(when - at, 6) for when, _ in helpers} == {0.5}
    assert {ask.to for _, ask in helpers} == {IBIS, STORK}
    assert {ask.node for _, ask in helpers} == {node("heron")}


def test_who_answers_nobody_is_suspected_after_a_period() -> None:
    members = membership("heron", "ibis", "stork")
    at, _ = until_probe(members, "heron")
    [(when, suspected)] = [(w, r) for w, r in until(members, at + 1.05) if isinstance(r, Suspected)]
    assert round(when - at, 6) == 1.0
    assert suspected.member.name == "heron"
    assert "heron" in {member.name for member in members.alive()}


@pytest.mark.parametrize("by", [HERON, IBIS])
def test_an_answer_that_comes_late_or_by_a_helper_is_good_enough(by: bytes) -> None:
    members = membership("heron", "ibis", "stork")
    at, probe = until_probe(members, "heron")
    until(members, at + 0.6)
    members.answered(by, probe.number, True, (), at + 0.9)
    until(members, at + 1.05)
    assert state(members, "heron") is ALIVE


def test_an_answer_of_somebody_who_was_not_asked_is_worth_nothing() -> None:
    members = membership("heron", "ibis", "stork")
    at, probe = until_probe(members, "heron")
    members.answered(IBIS, probe.number, True, (), at + 0.1)
    until(members, at + 0.6)
    members.answered(uuid("egret"), probe.number, True, (), at + 0.7)
    until(members, at + 1.05)
    assert state(members, "heron") is SUSPECT


def test_who_speaks_without_answering_is_not_suspected() -> None:
    members = membership("heron", "ibis", "stork")
    at, _ = until_probe(members, "heron")
    members.on_message(HERON, at + 0.9)
    until(members, at + 1.05)
    assert state(members, "heron") is ALIVE


def test_we_answer_for_this_process_only() -> None:
    members = membership("heron")
    for asked, boot, lives in [
        (ME.uuid, 3, True),
        (ME.uuid, 2, False),
        (ME.uuid, 4, False),
        (IBIS, 3, False),
    ]:
        assert members.probe(HERON, 7, asked, boot, (), 1.0) == [
            Lives(HERON, 7, lives, members.probe(HERON, 7, asked, boot, (), 1.0)[0].rumours)  # type: ignore[union-attr]
        ]


# --- helping ------------------------------------------------------------------------------------------------


def test_a_helper_probes_and_passes_the_answer_on() -> None:
    members = membership("heron", "ibis")
    [probe] = members.probe_for(IBIS, 77, node("heron"), (), 5.0)
    assert isinstance(probe, DirectProbe)
    assert (probe.to, probe.uuid, probe.boot) == (HERON, HERON, 1)
    [answer] = members.answered(HERON, probe.number, True, (), 5.1)
    assert isinstance(answer, Lives)
    assert (answer.to, answer.number, answer.lives) == (IBIS, 77, True)
    assert not [r for _, r in until(members, 7.0) if isinstance(r, Lives)]


def test_a_helper_that_hears_nothing_says_so_before_the_asker_gives_up() -> None:
    members = membership("heron", "ibis")
    [probe] = members.probe_for(IBIS, 77, node("heron"), (), 5.0)
    assert isinstance(probe, DirectProbe)
    [(at, answer)] = [(at, r) for at, r in until(members, 5.6) if isinstance(r, Lives)]
    assert (round(at, 6), answer.to, answer.number, answer.lives) == (5.4, IBIS, 77, False)
    assert "Lives" not in kinds(members.answered(HERON, probe.number, True, (), 5.7))


def test_a_helper_that_is_asked_for_a_stranger_gets_to_know_it_first() -> None:
    members = membership("ibis")
    assert kinds(members.probe_for(IBIS, 77, node("heron"), (), 5.0)) == ["Sighted", "DirectProbe"]


def test_who_asks_a_helper_for_ourselves_gets_the_answer_at_once() -> None:
    members = membership("ibis")
    [answer] = members.probe_for(IBIS, 77, ME, (), 5.0)
    assert isinstance(answer, Lives)
    assert answer.lives
    [answer] = members.probe_for(IBIS, 78, node("me", boot=2), (), 5.0)
    assert isinstance(answer, Lives)
    assert not answer.lives


def test_nobody_can_make_us_remember_errands_without_bound() -> None:
    members = membership("ibis")
    found = [members.probe_for(IBIS, number, node("heron"), (), 5.0) for number in range(2000)]
    assert sum(any(isinstance(r, DirectProbe) for r in results) for results in found) == 1024


# --- doubts about this node ---------------------------------------------------------------------------------


def test_in_a_crowd_what_is_new_runs_ahead_of_the_probes_three_times() -> None:
    members = crowd()
    until(members, 20.0)  # earlier rumors have been sent
    members.on_introduction(node("heron"), 20.0)
    spread = [(due, ask) for due, ask in until(members, 30.0) if isinstance(ask, Spread)]
    told = [due for due, ask in spread if any(r.node.uuid == HERON for r in ask.rumours)]
    assert 1 <= len(told) <= 3  # a probe between them counts as well
    assert told[0] <= 20.5


def test_in_a_crowd_what_we_conclude_goes_to_whoever_is_at_hand() -> None:
    found = until(crowd(), 30.0)
    first = next(place for place, (_, event) in enumerate(found) if isinstance(event, Suspected))
    suspect, ask = found[first][1].member.uuid, found[first + 1][1]  # type: ignore[union-attr]
    assert isinstance(ask, Spread)
    assert suspect in {r.node.uuid for r in ask.rumours if r.state is SUSPECT}


def test_among_few_all_hear_of_a_newcomer_from_itself() -> None:
    members = membership("ibis", "stork")
    members.on_introduction(node("heron"), 1.0)
    assert not any(isinstance(ask, Spread) for _, ask in until(members, 10.0))


# --- hints --------------------------------------------------------------------------------------------------


def split(results: Results) -> tuple[list[DirectProbe], list[DialProbe]]:
    return [r for r in results if isinstance(r, DirectProbe)], [
        r for r in results if isinstance(r, DialProbe)
    ]


def test_a_lost_connection_is_a_reason_to_probe_and_knock_at_once() -> None:
    members = membership("heron", "ibis")
    [probe], [knock] = split(members.probe_disconnected(HERON, 5.0))
    assert (probe.to, knock.node) == (HERON, node("heron"))
    assert split(members.probe_disconnected(HERON, 5.1)) == ([], [knock])


def test_nobody_knocks_where_there_is_no_address() -> None:
    members = membership("ibis")
    members.on_introduction(node("heron", address=""), 0.0)
    assert kinds(members.probe_disconnected(HERON, 5.0)) == ["DirectProbe"]


def test_a_lost_connection_to_one_that_is_not_alive_is_nothing() -> None:
    members = membership("heron", "ibis")
    members.on_goodbye(HERON, 1, 1.0)
    assert members.probe_disconnected(HERON, 5.0) == members.probe_disconnected(STORK, 5.0) == []
    assert members.on_dial_probe(HERON, True, 5.0) == members.on_dial_probe(STORK, True, 5.0) == []


def test_where_nobody_listens_and_nobody_vouches_the_node_is_dead_within_a_period() -> None:
    members = membership("heron", "ibis", "stork", "egret", "gull")
    members.probe_disconnected(HERON, 5.0)
    helpers = members.on_dial_probe(HERON, True, 5.01)
    assert kinds(helpers) == ["IndirectProbe"] * 3
    assert members.on_dial_probe(HERON, True, 5.02) == []
    [(at, dead)] = [(at, r) for at, r in until(members, 7.0) if isinstance(r, Dead)]
    assert (round(at, 6), dead.member.name) == (6.01, "heron")


def test_two_nodes_need_no_third_to_see_that_one_is_gone() -> None:
    members = membership("heron")
    members.probe_disconnected(HERON, 5.0)
    assert members.on_dial_probe(HERON, True, 5.01) == []
    assert "Dead" in [fate for _, fate in fates(members, 6.1)]


def test_an_open_door_or_silence_behind_it_kills_nobody() -> None:
    members = membership("heron", "ibis", "stork")
    members.probe_disconnected(HERON, 5.0)
    assert members.on_dial_probe(HERON, False, 5.01) == []
    assert "Dead" not in [fate for _, fate in fates(members, 8.0)]


def vouch(members: Membership, number: int) -> None:
    members.answered(IBIS, number, True, (), 5.5)


def speak(members: Membership, number: int) -> None:
    members.probe(HERON, 1, ME.uuid, ME.boot, (), 5.5)


def come_back(members: Membership, number: int) -> None:
    members.on_introduction(node("heron", address=AT), 5.5)


def restart(members: Membership, number: int) -> None:
    members.on_introduction(node("heron", boot=2), 5.5)


@pytest.mark.parametrize("sign", [vouch, speak, come_back, restart])
def test_one_sign_of_life_is_enough(sign: object) -> None:
    members = membership("heron", "ibis", "stork")
    members.probe_disconnected(HERON, 5.0)
    [helper, *_] = members.on_dial_probe(HERON, True, 5.01)
    assert isinstance(helper, IndirectProbe)
    assert callable(sign)
    sign(members, helper.number)
    assert "Dead" not in [fate for _, fate in fates(members, 6.5)]
    assert members.on_dial_probe(HERON, True, 6.6) != []  # the helpers may be asked again


def test_what_was_still_under_way_is_no_sign_of_life() -> None:
    members = membership("heron", "ibis", "stork")
    members.probe_disconnected(HERON, 5.0)
    members.on_dial_probe(HERON, True, 5.01)
    members.on_message(HERON, 5.02)
    assert "Dead" in [fate for _, fate in fates(members, 6.1)]


def test_a_helper_that_hears_nothing_does_not_vouch() -> None:
    members = membership("heron", "ibis", "stork")
    members.probe_disconnected(HERON, 5.0)
    for ask in members.on_dial_probe(HERON, True, 5.01):
        assert isinstance(ask, IndirectProbe)
        members.answered(ask.to, ask.number, False, (), 5.4)
    assert "Dead" in [fate for _, fate in fates(members, 6.1)]


# --- the dead -----------------------------------------------------------------------------------------------


def test_one_of_the_dead_is_probed_now_and_then_and_told_what_is_said_of_it() -> None:
    members = membership("heron")
    members.rumoured(IBIS, (rumour(DEAD),), 10.0)
    probes = [(at, r) for at, r in until(members, 45.0) if isinstance(r, DirectProbe) and r.to == HERON]
    assert [round(at) for at, _ in probes] == [20, 30, 40]
    assert all(probe.rumours[0].state is DEAD for _, probe in probes)


def test_a_probe_of_the_dead_that_is_not_answered_makes_nobody_ill() -> None:
    members = membership("heron", "ibis")
    members.rumoured(IBIS, (rumour(DEAD),), 1.0)
    fates(members, 60.0)
    assert members.deadline() <= 61.0
