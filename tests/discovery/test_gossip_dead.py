"""Gossip about dead nodes: what a node keeps and sends."""

from mesh.discovery.gossip import FULL, GRAVES, MOURNING, TOMBS, StateMessage
from tests.discovery.gossips import ALL, BILBO, FRODO, HERON, LARGE, OTHERS, far, gossip, large, says
from tools.models.gossip_mesh import boots, line, state


def test_a_node_that_is_gone_takes_its_state_with_it_and_others_are_told() -> None:
    mine = large()
    mine.heard(says(FRODO, far(HERON, 5)), ALL, 0.0)
    mine.remove_node(HERON, 1, 1.0)
    assert HERON not in mine.known
    message = mine.outgoing(LARGE, 1.0)
    assert (len(message.lines), message.digest, message.tombs) == (1, (), ((HERON, 1),))


def test_a_state_of_the_dead_never_comes_back() -> None:
    mine = gossip()
    mine.heard(says(HERON, line(state(HERON, 1, 5))), ALL, 0.0)
    mine.remove_node(HERON, 1, 1.0)
    assert mine.heard(says(FRODO, line(state(HERON, 1, 5))), ALL, 2.0) == []  # not even if it is alive
    assert mine.heard(says(FRODO, line(state(HERON, 1, 6)), number=2), boots(FRODO), 2.0) == []
    assert HERON not in mine.known


def test_a_node_that_lives_after_all_is_heard_again_in_the_same_boot_and_not_called_dead_any_more() -> None:
    mine = large()
    mine.heard(says(HERON, line(state(HERON, 1, 5))), ALL, 0.0)
    mine.remove_node(HERON, 1, 1.0)
    assert len(mine.heard(says(HERON, line(state(HERON, 1, 6)), number=2), ALL, 30.0)) == 1
    assert mine.outgoing(LARGE, 30.0).tombs == ()


def test_the_end_of_an_old_process_does_not_touch_the_state_of_the_new_one() -> None:
    mine = gossip()
    mine.heard(StateMessage(HERON, 2, 1, (line(state(HERON, 2)),)), boots(HERON, boot=2), 0.0)
    mine.remove_node(HERON, 1, 1.0)
    assert mine.known[HERON].state.boot == 2


def test_the_same_message_number_after_a_return_is_heard() -> None:
    mine = gossip()
    mine.heard(says(HERON, line(state(HERON, 1, 5))), ALL, 0.0)
    mine.remove_node(HERON, 1, 1.0)
    assert len(mine.heard(says(HERON, line(state(HERON, 1, 6))), ALL, 2.0)) == 1


def test_a_rumour_of_death_takes_away_only_who_has_been_silent_for_long() -> None:
    mine = large()
    mine.heard(says(HERON, line(state(HERON))), ALL, 0.0)
    patience = 2.0 * (3 + 2 * LARGE / FULL)
    for number, (now, known) in enumerate([(patience, True), (patience + 1, False)], 1):
        mine.heard(says(FRODO, tombs=[(HERON, 1)], number=number), ALL, now)
        assert (HERON in mine.known) == known
    assert mine.heard(says(BILBO, line(state(HERON))), ALL, 20.0) == []


def test_a_rumour_about_an_old_boot_does_not_touch_the_new_one() -> None:
    mine = large()
    alive = boots(HERON, FRODO, boot=2)
    mine.heard(StateMessage(HERON, 2, 1, (line(state(HERON, 2)),)), alive, 0.0)
    mine.heard(StateMessage(FRODO, 2, 1, tombs=((HERON, 1),)), alive, 1e6)
    assert HERON in mine.known


def test_all_graves_are_told_of_in_turn_and_forgotten_in_the_end() -> None:
    mine = large()
    for uuid in OTHERS[:100]:
        mine.remove_node(uuid, 1, 0.0)
    tombs = [mine.outgoing(LARGE, 1.0).tombs for _ in range(2)]
    assert [len(part) for part in tombs] == [TOMBS, TOMBS]
    assert {uuid for part in tombs for uuid, _ in part} == set(OTHERS[:100])
    for _ in range(2):
        assert mine.outgoing(LARGE, MOURNING).tombs == ()


def test_with_its_grave_everything_about_a_node_is_forgotten() -> None:
    mine = large()
    mine.heard(says(FRODO, line(state(HERON))), ALL, 0.0)
    mine.remove_node(HERON, 1, 0.0)
    mine.outgoing(LARGE, MOURNING)
    assert len(mine.heard(says(FRODO, line(state(HERON)), number=2), ALL, MOURNING)) == 1


def test_graves_are_bounded() -> None:
    mine = gossip()
    for number in range(3 * GRAVES):
        mine.remove_node(number.to_bytes(16), 1, 0.0)
    told = {uuid for _ in range(20) for uuid, _ in mine.outgoing(LARGE, 1.0).tombs}
    assert len(told) == GRAVES
    assert (3 * GRAVES - 1).to_bytes(16) in told
