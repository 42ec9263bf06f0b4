"""The names of nodes, and the limit on nodes in the table."""

from mesh.discovery.member import Node, NodeLife
from mesh.discovery.membership import CAPACITY, Joined, NameClash
from tests.discovery.nodes import (
    AT,
    ELSEWHERE,
    HERON,
    IBIS,
    ME,
    STORK,
    dead_heron,
    kinds,
    member,
    membership,
    node,
    rumour,
    state,
)

ALIVE, SUSPECT, DEAD, LEFT, SEEN = (
    NodeLife.ALIVE,
    NodeLife.SUSPECT,
    NodeLife.DEAD,
    NodeLife.LEFT,
    NodeLife.SEEN,
)


def test_a_newcomer_with_the_name_of_an_alive_node_is_not_admitted() -> None:
    members = membership("heron")
    newcomer = Node(IBIS, "heron", 1, ELSEWHERE)
    clash = NameClash(member(node("heron"), ALIVE, 0.0), member(newcomer, ALIVE, 1.0))
    assert members.on_introduction(newcomer, 1.0) == [clash]
    assert members.member_of(IBIS) is None


def test_a_suspect_keeps_its_name() -> None:
    members = membership("heron", "ibis", "stork")
    members.rumoured(IBIS, (rumour(SUSPECT),), 9.0)
    assert kinds(members.on_introduction(Node(b"x" * 16, "heron", 1, AT), 10.0)) == ["NameClash"]


def test_a_newcomer_with_our_own_name_is_not_admitted() -> None:
    members = membership()
    [clash] = members.on_introduction(Node(HERON, "me", 1, AT), 1.0)
    assert isinstance(clash, NameClash)
    assert clash.holder == members.me


def test_an_alive_node_cannot_take_the_name_of_another_one() -> None:
    members = membership("heron", "ibis")
    assert kinds(members.on_introduction(Node(IBIS, "heron", 2, ELSEWHERE), 1.0)) == ["NameClash"]
    ibis = members.by_name("ibis")
    assert ibis is not None
    assert ibis.boot == 1


def test_a_newcomer_gets_the_name_of_a_dead_node_which_does_not_get_it_back() -> None:
    members = dead_heron()
    newcomer = Node(STORK, "heron", 1, ELSEWHERE)
    assert members.on_introduction(newcomer, 11.0) == [Joined(member(newcomer, ALIVE, 11.0))]
    assert members.by_name("heron") == members.member_of(STORK)
    assert kinds(members.on_introduction(node("heron"), 12.0)) == ["NameClash"]
    assert kinds(members.probe(HERON, 1, ME.uuid, ME.boot, (), 12.0)) == ["Lives"]
    assert state(members, "heron") is DEAD


def test_a_newcomer_gets_the_name_of_a_node_that_left() -> None:
    members = membership("heron")
    members.on_goodbye(HERON, 1, 1.0)
    assert kinds(members.on_introduction(Node(IBIS, "heron", 1, ELSEWHERE), 2.0)) == ["Joined"]


def test_hearsay_holds_no_name() -> None:
    members = membership()
    members.sight(node("heron"), "seed", 0.0)
    [joined] = members.on_introduction(Node(IBIS, "heron", 1, ELSEWHERE), 1.0)
    assert isinstance(joined, Joined)
    assert members.by_name("heron") == joined.member
    assert state(members, "heron") is SEEN
    assert members.by_name("stork") is None


def test_a_new_boot_may_come_with_another_name() -> None:
    members = membership("heron")
    assert kinds(members.on_introduction(Node(HERON, "egret", 2, AT), 1.0)) == ["Restarted"]
    assert members.by_name("heron") is None
    assert members.by_name("egret") == members.member_of(HERON)


def number(i: int) -> bytes:
    return i.to_bytes(16, "big")


def numbered(i: int) -> Node:
    return Node(number(i), f"n{i}", 1, AT)


def test_a_full_table_takes_no_hearsay_but_makes_room_for_one_that_speaks() -> None:
    members = membership("heron")
    for i in range(2, CAPACITY):
        members.sight(numbered(i), "seed", float(i))
    assert members.sight(node("ibis"), "seed", 9000.0) == []
    assert members.rumoured(HERON, (rumour(DEAD, "ibis"), rumour(ALIVE, "ibis")), 9000.0) == []
    assert (len(members.all()), members.no_room) == (CAPACITY, 3)
    assert kinds(members.on_introduction(node("stork"), 9000.0)) == ["Joined"]
    assert len(members.all()) == CAPACITY
    assert members.member_of(number(2)) is None
    members.on_introduction(node("stork", 2), 9001.0)
    assert members.member_of(number(3)) is not None


def test_a_full_table_forgets_hearsay_first_and_then_who_is_longest_gone() -> None:
    members = membership()
    for i in range(1, CAPACITY - 1):
        members.on_introduction(numbered(i), 0.0)
    members.on_goodbye(number(7), 1, 4.0)
    members.on_goodbye(number(8), 1, 5.0)
    members.sight(node("ibis"), "seed", 6.0)
    for name, forgotten in [("a", IBIS), ("b", number(7)), ("c", number(8))]:
        assert kinds(members.on_introduction(node(name), 7.0)) == ["Joined"]
        assert members.member_of(forgotten) is None
    assert members.on_introduction(node("d"), 7.0) == []
    assert (members.count, members.no_room) == (CAPACITY, 1)
