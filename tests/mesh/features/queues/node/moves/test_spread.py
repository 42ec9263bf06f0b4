"""Pieces that wait for transfers, and are sent as far as their nodes accept them."""

from random import Random

import pytest

from mesh.features.queues.model.envelopes.counts import count
from mesh.features.queues.model.envelopes.queued_envelope import QueuedEnvelope
from mesh.features.queues.model.moves.dealing import DealtPiece
from mesh.features.queues.node.moves import spread as spreading
from mesh.features.queues.node.moves.spread import QueueSpread
from tests.mesh.features.queues.model.making import queued


def ready(first: int, n: int = 2) -> QueuedEnvelope:
    made = queued(first, n)
    made.add_ready(made.open())
    return made


def test_a_full_transfer_keeps_the_rest_and_is_not_tried_again_until_it_has_room(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(spreading, "TOGETHER", 2)
    spread, begun = QueueSpread(b"me"), list[int]()
    spread.line(b"n").extend((each, [*each.ready]) for each in map(ready, range(1, 11, 2)))

    def begin(node: bytes, pieces: list[DealtPiece]) -> int:
        begun.append(len(pieces))
        if len(begun) > 1:
            return 0
        for each, runs in pieces:
            each.take_out(runs)
        return sum(count(runs) for _, runs in pieces)

    spread.begin_waiting(begin)
    assert (begun, spread.full, len(spread.waiting[b"n"])) == ([2, 2], {b"n"}, 3)
    spread.begin_waiting(begin)
    assert begun == [2, 2]
    spread.give_up(b"n")
    assert not spread.waiting and not spread.full


@pytest.mark.parametrize("seed", range(20))
def test_what_is_no_longer_ready_is_not_sent_and_does_not_wait(seed: int) -> None:
    dice, spread, sent = Random(seed), QueueSpread(b"me"), list[tuple[bytes, int]]()
    envelopes = [ready(first) for first in range(1, 41, 2)]
    nodes = [b"a", b"b"]
    for each in envelopes:
        spread.line(dice.choice(nodes)).append((each, [*each.ready]))
    gone = {
        number for each in envelopes for number in range(each.key[2], each.key[2] + 2) if dice.random() < 0.5
    }
    for each in envelopes:
        each.take_out([(n, n) for n in sorted(gone) if each.envelope.first <= n <= each.envelope.last])

    def begin(node: bytes, pieces: list[DealtPiece]) -> int:
        numbers = [n for _, runs in pieces for first, last in runs for n in range(first, last + 1)]
        sent.extend((node, n) for n in numbers)
        for each, runs in pieces:
            each.take_out(runs)
        return len(numbers)

    spread.begin_waiting(begin)
    assert sorted(n for _, n in sent) == [n for n in range(1, 41) if n not in gone]
    assert not spread.waiting and spread.count == 0
