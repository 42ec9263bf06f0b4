"""Two processes of one node: when both are refused, and which one stays."""

import pytest

from mesh.discovery.member import Member, NodeLife
from mesh.discovery.membership import Conflict, Membership
from tests.discovery.nodes import ELSEWHERE, HERON, IBIS, kinds, membership, node, rumour, state, until

ALIVE, SUSPECT, DEAD, LEFT, SEEN = (
    NodeLife.ALIVE,
    NodeLife.SUSPECT,
    NodeLife.DEAD,
    NodeLife.LEFT,
    NodeLife.SEEN,
)


def conflict() -> Membership:
    members = membership("ibis")
    members.on_introduction(node("heron", 5), 10.0)
    members.on_introduction(node("heron", 6, ELSEWHERE), 12.0)
    [clash] = members.on_introduction(node("heron", 5), 13.0)
    assert isinstance(clash, Conflict)
    assert clash.member.state is NodeLife.CONFLICT
    return members


def heron_after(members: Membership, end: float) -> Member:
    until(members, end)
    found = members.member_of(HERON)
    assert found is not None
    return found


def test_an_older_process_that_speaks_after_the_newer_one_is_a_conflict_and_neither_is_alive() -> None:
    members = conflict()
    assert {m.name for m in members.alive()} == {"me", "ibis"}
    assert (
        members.on_introduction(node("heron", 6, ELSEWHERE), 14.0)
        == members.on_introduction(node("heron", 5), 14.0)
        == []
    )
    assert members.on_message(HERON, 14.0) == []
    assert members.rumoured(IBIS, (rumour(ALIVE, boot=6, incarnation=3),), 14.0) == []


def test_the_newer_process_is_alive_again_when_the_older_one_is_silent() -> None:
    members = conflict()
    members.on_introduction(node("heron", 6, ELSEWHERE), 20.0)
    found = heron_after(members, 22.9)
    assert found.state is NodeLife.CONFLICT
    assert heron_after(members, 23.1).state is ALIVE
    assert members.member_of(HERON) is not None
    assert heron_after(members, 23.1).boot == 6


def test_the_older_process_is_alive_again_when_the_newer_one_is_silent() -> None:
    members = conflict()
    members.on_introduction(node("heron", 5), 21.0)
    found = heron_after(members, 23.5)
    assert (found.state, found.boot) == (ALIVE, 5)
    assert members.on_introduction(node("heron", 5), 23.6) == []
    assert kinds(members.on_introduction(node("heron", 6), 24.0)) == ["Restarted"]


def test_an_older_process_is_only_sure_to_live_after_messages_cannot_have_been_in_flight() -> None:
    members = membership("ibis")
    assert not members.is_outlived(HERON)
    members.on_introduction(node("heron", 5), 10.0)
    members.on_introduction(node("heron", 6, ELSEWHERE), 12.0)
    members.on_introduction(node("heron", 5), 12.9)
    assert not members.is_outlived(HERON)
    members.on_introduction(node("heron", 5), 13.0)
    assert members.is_outlived(HERON)


def test_as_long_as_both_speak_the_conflict_lasts_and_when_both_are_silent_the_node_is_dead() -> None:
    members = conflict()
    for second in range(14, 60, 4):
        members.on_introduction(node("heron", 5), float(second))
        members.on_introduction(node("heron", 6, ELSEWHERE), second + 1.0)
        assert heron_after(members, second + 2.0).state is NodeLife.CONFLICT
    assert heron_after(members, 80.0).state is DEAD


@pytest.mark.parametrize("boot", [5, 6])
def test_after_a_conflict_in_which_both_fell_silent_whoever_speaks_first_is_it(boot: int) -> None:
    members = conflict()
    assert heron_after(members, 30.0).state is DEAD
    assert kinds(members.on_introduction(node("heron", boot), 31.0))[0] == "Joined"
    assert heron_after(members, 31.1).boot == boot


def test_a_conflict_that_seemed_to_be_over_begins_again_with_the_next_word_of_the_other_one() -> None:
    members = conflict()
    members.on_introduction(node("heron", 6, ELSEWHERE), 20.0)
    assert heron_after(members, 23.1).state is ALIVE
    assert kinds(members.on_introduction(node("heron", 5), 40.0)) == ["Conflict"]


def test_a_goodbye_of_one_ends_the_conflict_for_the_other() -> None:
    members = conflict()
    assert members.on_goodbye(HERON, 6, 14.0) == []
    members.on_introduction(node("heron", 5), 14.5)
    found = heron_after(members, 23.5)
    assert (found.state, found.boot) == (ALIVE, 5)


def test_an_older_boot_that_speaks_long_after_the_restart_is_only_old_news() -> None:
    members = membership("heron")
    members.on_introduction(node("heron", 2), 1.0)
    assert members.on_introduction(node("heron", 1), 31.5) == []
    assert state(members, "heron") is ALIVE
