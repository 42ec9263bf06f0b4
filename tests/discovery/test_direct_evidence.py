"""A node's conclusions from packets that another node sends about itself."""

from collections.abc import Callable

import pytest

from mesh.discovery.member import Member, Node, NodeLife, Rumour
from mesh.discovery.membership import Joined, Left, MemberEvent, Membership, Moved, Restarted
from tests.discovery.nodes import (
    AT,
    ELSEWHERE,
    HERON,
    IBIS,
    ME,
    accusations,
    crowd,
    dead_heron,
    kinds,
    member,
    membership,
    node,
    rumour,
    state,
    until,
)

ALIVE, SUSPECT, DEAD, LEFT, SEEN = (
    NodeLife.ALIVE,
    NodeLife.SUSPECT,
    NodeLife.DEAD,
    NodeLife.LEFT,
    NodeLife.SEEN,
)


def test_old_news_is_no_news_and_is_counted() -> None:
    members = membership()
    members.on_introduction(node("heron", 5), 0.0)
    assert members.on_introduction(node("heron", 4, ELSEWHERE), 9.0) == []
    assert members.on_goodbye(HERON, 4, 9.0) == []
    assert members.old_news == 2
    assert members.alive()[1] == member(node("heron", 5), ALIVE, 0.0)


def test_a_higher_boot_of_an_alive_node_is_a_restart() -> None:
    members = membership("heron")
    reborn = node("heron", 2, ELSEWHERE)
    assert members.on_introduction(reborn, 1.0) == [Restarted(member(reborn, ALIVE, 1.0), 1)]


def test_an_alive_node_that_shows_another_address_has_moved() -> None:
    members = membership("heron")
    moved = node("heron", address=ELSEWHERE)
    assert members.on_introduction(moved, 1.0) == [Moved(member(moved, ALIVE, 1.0, since=0.0), AT)]


def test_an_alive_node_whose_gossip_is_elsewhere_has_moved_as_well() -> None:
    members = membership("heron")
    moved = node("heron", gossip="tcp://127.0.0.1:7011")
    assert members.on_introduction(moved, 1.0) == [Moved(member(moved, ALIVE, 1.0, since=0.0), AT)]
    assert members.on_introduction(moved, 2.0) == []


def test_a_node_that_says_goodbye_has_left_and_is_not_called_dead_later() -> None:
    members = membership("heron")
    assert members.on_goodbye(HERON, 1, 1.0) == [Left(member(node("heron"), LEFT, 1.0))]
    assert members.on_goodbye(HERON, 1, 2.0) == []
    assert all(not isinstance(result, MemberEvent) for _, result in until(members, 60.0))


def test_packets_that_the_goodbye_overtook_do_not_raise_the_node_again() -> None:
    members = membership("heron")
    members.on_goodbye(HERON, 1, 1.0)
    assert members.on_introduction(node("heron"), 1.1) == []
    assert members.on_message(HERON, 1.1) == []
    assert members.probe(HERON, 1, ME.uuid, ME.boot, (), 1.1)[:-1] == []
    assert members.old_news == 1
    assert kinds(members.on_introduction(node("heron", 2), 2.0)) == ["Joined"]


@pytest.mark.parametrize("some", [membership, crowd])
def test_packets_that_the_goodbye_overtook_are_old_though_others_tell_of_the_next_boot(
    some: Callable[..., Membership],
) -> None:
    members = some("heron", "ibis")
    members.on_goodbye(HERON, 1, 1.0)
    for boot in (2, 3):
        members.rumoured(IBIS, (rumour(ALIVE, boot=boot),), 1.1)
    assert members.on_introduction(node("heron", 1), 1.2) == []
    assert members.old_news == 1
    assert members.on_introduction(node("heron", 2), 1.3) != []
    found = members.member_of(HERON)
    assert found is not None
    assert (found.state, found.boot) == (ALIVE, 2), "who speaks itself is right: there was never a third boot"


def test_a_goodbye_of_a_boot_that_we_missed_counts_as_well() -> None:
    members = membership("heron")
    assert members.on_goodbye(HERON, 7, 1.0) == [Left(member(node("heron", 7), LEFT, 1.0))]
    assert (
        members.on_introduction(node("heron", 6), 2.0) == members.on_introduction(node("heron", 7), 2.0) == []
    )


def test_a_dead_node_whose_goodbye_comes_late_has_left_without_a_second_word() -> None:
    members = dead_heron()
    assert members.on_goodbye(HERON, 1, 11.0) == []
    assert state(members, "heron") is LEFT


def test_a_goodbye_from_someone_unknown_or_only_seen_is_nothing() -> None:
    members = membership()
    members.sight(node("heron"), "seed", 0.0)
    assert members.on_goodbye(HERON, 1, 1.0) == members.on_goodbye(IBIS, 1, 1.0) == []
    assert state(members, "heron") is SEEN


def test_nobody_can_speak_for_ourselves() -> None:
    members = membership("heron")
    other = Node(ME.uuid, "mee", 99, ELSEWHERE)
    assert members.on_introduction(other, 1.0) == members.sight(other, "mdns", 1.0) == []
    assert members.on_goodbye(ME.uuid, 99, 1.0) == []
    assert members.probe_disconnected(ME.uuid, 1.0) == members.on_dial_probe(ME.uuid, True, 1.0) == []
    assert members.me == Member(ME, "self", ALIVE, 0.0)


def test_a_dead_node_that_speaks_is_alive_and_told_to_deny_its_death() -> None:
    members = dead_heron()
    (joined,) = members.on_introduction(node("heron"), 11.0)
    assert joined == Joined(member(node("heron"), ALIVE, 11.0))
    for _ in range(9):  # with each packet, since any may be lost
        assert accusations(members) == [Rumour(node("heron"), 0, DEAD)]
    assert members.rumoured(HERON, (rumour(ALIVE, incarnation=1),), 14.0) == []
    assert [said.state for said in accusations(members)] == [ALIVE], "what all are told"


def test_who_was_called_dead_and_denied_it_is_suspected_by_all_when_one_suspects_it_again() -> None:
    # Otherwise each node would suspect it alone, and wait three times as long for others to agree.
    members = dead_heron()
    members.on_introduction(node("heron"), 11.0)
    members.rumoured(HERON, (rumour(ALIVE, incarnation=1),), 11.1)
    suspected = members.rumoured(IBIS, (rumour(SUSPECT, incarnation=1),), 20.0)
    assert kinds(suspected) == ["Suspected"]


def test_of_whom_nothing_bad_counts_nobody_is_told_to_deny_anything() -> None:
    members = membership("heron", "ibis")
    assert [said.state for said in accusations(members)] == [ALIVE]
    members.rumoured(IBIS, (rumour(SUSPECT),), 11.0)
    assert state(members, "heron") is ALIVE, "it has just spoken"
    assert [said.state for said in accusations(members)] == [SUSPECT], "but others may believe it"


def test_a_dead_node_that_asks_us_on_a_connection_it_still_has_is_alive_as_well() -> None:
    members = dead_heron()
    assert kinds(members.probe(HERON, 1, ME.uuid, ME.boot, (), 11.0)) == ["Joined", "Lives"]


def test_what_was_still_under_way_from_a_dead_node_does_not_raise_it() -> None:
    members = dead_heron()
    assert members.on_message(HERON, 9.1) == []
    assert state(members, "heron") is DEAD
