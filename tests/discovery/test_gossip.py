"""Gossip of one node: which states it believes, forwards and misses."""

import msgspec
import pytest

from mesh.discovery.gossip import FULL, StateGossip, StateLine, StateMessage, encode
from mesh.discovery.relay import DIGEST, LINES, MISSED
from tests.discovery.gossips import (
    ALL,
    BILBO,
    FRODO,
    HERON,
    LARGE,
    ME,
    OTHERS,
    far,
    gossip,
    half,
    large,
    says,
)
from tools.models.gossip_mesh import boots, line, state


def handed_on(mine: StateGossip, now: float = 1.0) -> list[tuple[bytes, int]]:
    """Return the (uuid, counter) pairs of other nodes' lines in the next message."""
    return [(each.uuid, each.counter) for each in mine.outgoing(LARGE, now).lines[1:]]


# --- believing --------------------------------------------------------------------------------------


def test_what_a_node_says_of_itself_is_news_once_and_then_known() -> None:
    mine = gossip()
    said = state(HERON, 1, 5)
    [news] = mine.heard(says(HERON, line(said)), ALL, 7.0)
    assert (news.state, news.heard, news.direct) == (said, 7.0, True)
    assert mine.known == {HERON: news}
    assert mine.heard(says(HERON, line(said), number=2), ALL, 8.0) == []
    assert mine.known[HERON].heard == 7.0


def test_what_came_by_another_node_is_marked_so() -> None:
    mine = gossip()
    [news] = mine.heard(says(FRODO, line(state(HERON))), ALL, 0.0)
    assert not news.direct


def test_a_message_that_comes_by_two_ways_counts_once() -> None:
    mine = gossip()
    message = says(HERON, line(state(HERON)))
    assert len(mine.heard(message, ALL, 0.0)) == 1
    assert mine.heard(message, ALL, 0.1) == []
    assert mine.repeated == 1


def test_a_high_number_in_somebodys_name_does_not_silence_it() -> None:
    mine = gossip()
    mine.heard(says(HERON, number=2**63 - 1), ALL, 0.0)
    assert len(mine.heard(says(HERON, line(state(HERON)), number=1), ALL, 1.0)) == 1


def test_a_newer_state_replaces_an_older_one_and_never_the_other_way_round() -> None:
    mine = gossip()
    mine.heard(says(HERON, line(state(HERON, 1, 5))), ALL, 0.0)
    assert mine.heard(says(FRODO, line(state(HERON, 1, 4))), ALL, 1.0) == []
    assert mine.stale == 1
    mine.heard(says(FRODO, line(state(HERON, 1, 6)), number=2), ALL, 2.0)
    assert mine.known[HERON].state.counter == 6


def test_after_a_restart_its_counter_begins_again() -> None:
    mine = gossip()
    mine.heard(says(HERON, line(state(HERON, 1, 500))), ALL, 0.0)
    restarted = boots(HERON, boot=2)
    mine.heard(StateMessage(HERON, 2, 1, (line(state(HERON, 2, 1)),)), restarted, 1.0)
    assert mine.known[HERON].state.version == (2, 1)
    # Late messages of the old process are ignored, and so is the process itself.
    assert mine.heard(says(HERON, line(state(HERON, 1, 501)), number=9), restarted, 2.0) == []
    assert mine.known[HERON].state.version == (2, 1)


def test_nobody_is_believed_or_kept_whom_membership_does_not_call_alive() -> None:
    mine = gossip()
    assert mine.heard(says(HERON, line(state(HERON))), boots(FRODO), 0.0) == []
    assert mine.heard(says(FRODO, line(state(HERON))), boots(FRODO), 0.0) == []
    assert mine.strangers == {HERON}
    assert mine.heard(says(FRODO, line(state(HERON, 2)), number=2), boots(FRODO, HERON), 0.0) == []
    assert mine.strangers == set()
    assert (mine.strange, len(mine.known)) == (3, 0)


def test_what_an_old_process_still_says_of_others_is_not_heard() -> None:
    mine = gossip()
    restarted = {HERON: 2, FRODO: 1}
    assert mine.heard(says(HERON, line(state(FRODO))), restarted.get, 0.0) == []
    assert (mine.strange, len(mine.known)) == (1, 0)


def test_our_own_voice_that_comes_back_says_nothing() -> None:
    mine = gossip()
    assert mine.heard(says(FRODO, line(state(ME, 1, 99))), ALL, 0.0) == []
    assert mine.heard(says(ME, line(state(HERON))), ALL, 0.0) == []
    assert len(mine.known) == 0


SIGNED = bytes(64)


@pytest.mark.parametrize(
    "forged",
    [
        StateLine(HERON, 1, 1, state(FRODO).encode(), SIGNED),
        StateLine(HERON, 1, 2, state(HERON).encode(), SIGNED),
        StateLine(HERON, 1, 1, state(HERON, 2).encode(), SIGNED),
        StateLine(HERON, 1, 1, b"not a state", SIGNED),
        StateLine(HERON, 1, 1, state(HERON, load=2).encode(), SIGNED),
        line(state(HERON), signature=b"wrong"),
    ],
)
def test_a_line_that_is_not_its_owners_word_is_dropped_and_counted(forged: StateLine) -> None:
    mine = gossip(verify=lambda line: line.signature == SIGNED)
    assert mine.heard(says(FRODO, forged), ALL, 0.0) == []
    assert (mine.forged, len(mine.known)) == (1, 0)
    assert len(mine.heard(says(HERON, line(state(HERON))), ALL, 1.0)) == 1


def test_a_forged_line_does_not_keep_the_others_of_its_message_out() -> None:
    mine = gossip()
    message = says(FRODO, StateLine(HERON, 1, 1, b""), line(state(BILBO)), line(state(FRODO)))
    assert {known.state.uuid for known in mine.heard(message, ALL, 0.0)} == {BILBO, FRODO}


def test_signatures_are_checked_of_news_only() -> None:
    checked: list[StateLine] = []

    def verify(line: StateLine) -> bool:
        checked.append(line)
        return True

    mine = gossip(verify)
    for number in range(1, 6):
        mine.heard(says(FRODO, line(state(HERON)), number=number), ALL, 0.0)
    assert len(checked) == 1


# --- speaking ---------------------------------------------------------------------------------------


def test_in_a_small_mesh_a_node_speaks_of_itself_only() -> None:
    mine = gossip()
    mine.heard(says(FRODO, far(HERON)), ALL, 0.0)
    mine.remove_node(BILBO, 1, 0.0)
    message = mine.outgoing(FULL, 1.0)
    assert (message.lines, message.digest, message.tombs, message.span) == ((line(state(ME)),), (), (), None)
    assert (message.sender, message.boot, message.number) == (ME, 1, 1)
    assert mine.outgoing(FULL, 2.0).number == 2


def test_in_a_large_mesh_one_in_so_many_of_our_states_is_for_those_afar() -> None:
    mine = gossip()
    marks = [mine.outgoing(10 * FULL, 0.0).lines[0].far for _ in range(100)]
    assert sum(marks) == 10
    assert sum(gossip().outgoing(FULL, 0.0).lines[0].far for _ in range(100)) == 0


def test_a_far_state_is_handed_on_once_unchanged_and_others_are_not() -> None:
    mine = large()
    said = far(HERON)
    mine.heard(says(FRODO, said, line(state(BILBO))), ALL, 0.0)
    assert mine.outgoing(LARGE, 1.0).lines[1:] == (said,)
    mine.heard(says(BILBO, said), ALL, 1.0)
    assert handed_on(mine) == []


def test_of_a_state_that_waits_only_the_newest_is_handed_on() -> None:
    mine = large()
    mine.heard(says(FRODO, far(HERON, 1), far(BILBO, 1), far(HERON, 2)), ALL, 0.0)
    assert handed_on(mine) == [(HERON, 2), (BILBO, 1)]


def test_what_is_too_much_for_one_message_goes_with_the_next_in_order() -> None:
    mine = large()
    mine.heard(says(FRODO, *map(far, OTHERS[:60])), ALL, 0.0)
    assert handed_on(mine) == [(uuid, 1) for uuid in OTHERS[:LINES]]
    assert handed_on(mine) == [(uuid, 1) for uuid in OTHERS[LINES:60]]


def knowing(count: int, counter: int = 100) -> StateGossip:
    """Return the gossip of this node in a large mesh of which it knows `count` nodes."""
    mine = large()
    mine.heard(says(FRODO, *(line(state(uuid, 1, counter)) for uuid in OTHERS[:count])), ALL, 0.0)
    return mine


def test_digests_go_round_all_that_is_known_without_a_hole() -> None:
    mine = knowing(70)
    assert len(mine.outgoing(100, 0.0).digest) == 70  # 99 others exist, so some are missing
    parts = [mine.outgoing(LARGE, 0.0) for _ in range(4)]
    assert [len(part.digest) for part in parts] == [DIGEST, DIGEST, 6, DIGEST]
    edges = [OTHERS[DIGEST], OTHERS[2 * DIGEST]]
    assert [part.span for part in parts] == [
        (b"", edges[0]),
        (edges[0], edges[1]),
        (edges[1], b""),
        (b"", edges[0]),
    ]
    assert [entry for part in parts[:3] for entry in part.digest] == [(uuid, 1, 100) for uuid in OTHERS[:70]]


def asks(*digest: tuple[bytes, int, int], span: tuple[bytes, bytes] = (b"", b"")) -> StateMessage:
    return StateMessage(BILBO, 1, 1, (), digest, (), span)


def test_a_newcomer_is_told_what_it_lacks_in_several_messages_and_nobody_hands_that_on() -> None:
    mine = knowing(60)
    mine.heard(asks(), ALL, 1.0)
    first = mine.outgoing(LARGE, 1.0).lines[1:]
    assert (len(first), {each.far for each in first}) == (LINES, {False})
    mine.heard(asks(*((each.uuid, 1, 100) for each in first)), ALL, 2.0)  # same message number: ignored
    mine.heard(msgspec.structs.replace(asks(*((e.uuid, 1, 100) for e in first)), number=2), ALL, 2.0)
    assert len({each.uuid for each in (*first, *mine.outgoing(LARGE, 2.0).lines[1:])}) == 60


def test_what_a_node_lacks_is_told_once_though_it_was_marked_for_those_afar_and_never_its_own_state() -> None:
    mine = large()
    mine.heard(says(FRODO, far(HERON), line(state(BILBO))), ALL, 0.0)
    assert handed_on(mine) == [(HERON, 1)]
    mine.heard(asks(), ALL, 1.0)  # from bilbo
    [answer] = mine.outgoing(LARGE, 1.0).lines[1:]
    assert (answer.uuid, answer.far) == (HERON, False)


def test_two_that_answer_a_newcomer_begin_with_different_states() -> None:
    first = []
    for me in (ME, OTHERS[100]):
        mine = StateGossip(me, half)
        mine.own(line(state(me)))
        mine.outgoing(LARGE, 0.0)
        mine.heard(says(FRODO, *(line(state(uuid)) for uuid in OTHERS if uuid != me)), ALL, 0.0)
        mine.heard(asks(), ALL, 0.0)
        first.append({each.uuid for each in mine.outgoing(LARGE, 0.0).lines[1:]})
    assert not first[0] & first[1]


def test_who_missed_the_last_far_states_is_told_who_is_a_little_behind_is_not() -> None:
    mine = knowing(4)
    lost = MISSED + 2 * LARGE // FULL
    a, b, c, d = OTHERS[:4]
    mine.heard(asks((a, 1, 100 - lost - 1), (b, 1, 100 - lost), (c, 1, 200), (d, 0, 999)), ALL, 1.0)
    assert sorted(handed_on(mine)) == [(a, 100), (d, 100)]


def test_a_digest_speaks_for_its_span_only() -> None:
    mine = knowing(10)
    mine.heard(asks((OTHERS[4], 1, 100), span=(OTHERS[3], OTHERS[6])), ALL, 1.0)
    assert sorted(handed_on(mine)) == [(OTHERS[3], 100), (OTHERS[5], 100)]


def test_no_digest_makes_us_say_more_than_fits() -> None:
    mine = knowing(100)
    mine.heard(asks(), ALL, 1.0)
    mine.heard(says(FRODO, *(far(uuid, 101) for uuid in OTHERS[:30]), number=2), ALL, 1.0)
    lines = handed_on(mine)
    assert (len(lines), lines[:30]) == (LINES, [(uuid, 101) for uuid in OTHERS[:30]])


# --- hearing ----------------------------------------------------------------------------------------


def test_who_is_listened_to_and_says_nothing_for_three_intervals_is_asked_otherwise() -> None:
    mine = gossip()
    listened = mine.listen_to([HERON, FRODO], (), 10.0)
    assert listened == {HERON, FRODO}
    mine.heard(says(HERON, line(state(HERON))), ALL, 12.0)
    assert mine.unheard(listened, 16.0) == set()
    assert mine.unheard(listened, 16.1) == {FRODO}
    mine.heard(says(HERON, line(state(FRODO)), number=2), ALL, 17.0)
    assert mine.unheard(listened, 17.0) == {FRODO}  # forwarded states do not count as its own
    mine.heard(says(FRODO, line(state(FRODO, 1, 2))), ALL, 18.0)
    assert mine.unheard(listened, 18.1) == set()
    assert mine.unheard(listened, 24.1) == {HERON, FRODO}


def test_waiting_begins_when_we_begin_to_listen() -> None:
    mine = gossip()
    mine.listen_to([HERON], (), 0.0)
    both = mine.listen_to([HERON, FRODO], (), 100.0)
    assert mine.unheard(both, 101.0) == {HERON}


def test_the_known_cannot_be_changed_from_outside() -> None:
    with pytest.raises(TypeError):
        gossip().known[HERON] = None  # type: ignore[index]


def test_what_is_published_is_bytes_that_others_read() -> None:
    mine = large()
    message = mine.outgoing(LARGE, 0.0)
    assert msgspec.msgpack.decode(encode(message), type=StateMessage) == message
