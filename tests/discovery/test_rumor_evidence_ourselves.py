"""The answers of a node to rumors about itself."""

from random import Random

import pytest

from mesh.discovery.member import IdentityDuplicated, NodeLife, Rumour
from mesh.discovery.membership import Inform, Membership
from tests.discovery.nodes import ELSEWHERE, HERON, IBIS, ME, kinds, membership, node, rumour, until_probe

ALIVE, SUSPECT, DEAD, LEFT, SEEN = (
    NodeLife.ALIVE,
    NodeLife.SUSPECT,
    NodeLife.DEAD,
    NodeLife.LEFT,
    NodeLife.SEEN,
)


@pytest.mark.parametrize("word", [SUSPECT, DEAD])
def test_we_deny_what_is_said_of_our_end_and_tell_everybody(word: NodeLife) -> None:
    members = membership("heron", "ibis")
    [told] = members.rumoured(IBIS, (rumour(word, "me", 3),), 1.0)
    denial = Rumour(ME, 1, ALIVE)
    assert told == Inform(IBIS, (denial,))
    assert members.me.incarnation == 1
    for name in ("heron", "ibis"):
        _, probe = until_probe(members, name)
        assert denial in probe.rumours


def test_our_denial_goes_with_the_answer_to_who_probes_a_suspect() -> None:
    members = membership("heron")
    *_, answer = members.probe(HERON, 1, ME.uuid, 3, (rumour(SUSPECT, "me", 3, 6),), 1.0)
    assert answer.rumours[0] == Rumour(ME, 7, ALIVE)  # type: ignore[union-attr]


def test_what_we_denied_already_we_deny_again_with_the_same_words() -> None:
    members = membership("heron", "ibis")
    members.rumoured(IBIS, (rumour(DEAD, "me", 3),), 1.0)
    assert members.rumoured(HERON, (rumour(DEAD, "me", 3),), 2.0) == [Inform(HERON, (Rumour(ME, 1, ALIVE),))]


def test_what_is_said_of_another_boot_of_ours_is_not_about_us() -> None:
    members = membership("heron")
    for boot in (2, 4):
        assert members.rumoured(HERON, (rumour(DEAD, "me", boot),), 1.0) == []
    assert members.rumoured(HERON, (rumour(LEFT, "me", 2), rumour(ALIVE, "me", 2)), 1.0) == []
    assert members.me.incarnation == 0


def test_row_51_who_is_said_to_be_us_where_we_never_were_is_another_process() -> None:
    members = membership("heron")
    members.set_addresses(node("me", 3, ELSEWHERE), 1.0)
    for at in (ME.address, ELSEWHERE, ""):
        assert members.rumoured(HERON, (rumour(ALIVE, "me", 3, at=at),), 2.0) == []
    [doubled] = members.rumoured(HERON, (rumour(ALIVE, "me", 3, at="tcp://127.0.0.9:1"),), 3.0)
    assert isinstance(doubled, IdentityDuplicated) and doubled.member.address == "tcp://127.0.0.9:1"


def test_who_moves_says_so_with_a_higher_incarnation() -> None:
    members = membership("heron")
    moved = node("me", 3, ELSEWHERE)
    [told] = members.set_addresses(moved, 1.0)
    assert isinstance(told, Inform)
    assert told.rumours[0] == Rumour(moved, 1, ALIVE)
    assert (members.me.node, members.me.incarnation) == (moved, 1)
    _, probe = until_probe(members, "heron")
    assert Rumour(moved, 1, ALIVE) in probe.rumours


def test_our_goodbye_ends_us_for_whoever_believes_it() -> None:
    members, other = membership("heron"), membership("heron")
    members.set_addresses(ME, 1.0)
    [goodbye] = members.goodbye()
    other = Membership(node("heron"), Random(0).random)
    other.on_introduction(ME, 0.0)
    assert kinds(other.rumoured(ME.uuid, (goodbye,), 2.0)) == ["Left"]
