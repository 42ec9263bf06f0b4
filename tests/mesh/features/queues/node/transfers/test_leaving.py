"""The open pieces of a queue for one target, and the answers that count."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from mesh.features.queues.model.envelopes.envelope_row import MOST_MOVES
from mesh.features.queues.node.transfers.leaving import LeavingPiece, QueueTransfer, TransferOutcome
from mesh.features.queues.wire import Transferred
from tests.mesh.features.queues.model.making import queued

TAKEN, REFUSED, UNSURE = TransferOutcome.TAKEN, TransferOutcome.REFUSED, TransferOutcome.UNSURE


def transfer(pieces: int, unwritten: int = 0) -> QueueTransfer:
    """Pieces 1, 2, ... of which the last ones are not on disk."""
    made = QueueTransfer(cast(Any, SimpleNamespace(name="jobs")), b"n", 1)
    for n in range(1, pieces + 1):
        made.begin_piece(LeavingPiece(queued(n), [(n, n)]))
    made.unwritten = set(range(pieces - unwritten + 1, pieces + 1))
    return made


@pytest.mark.parametrize(
    ("answer", "outcomes"),
    [
        (Transferred("jobs", (1, 2)), {1: TAKEN, 2: TAKEN}),
        (Transferred("jobs", (1, 1), (2, 2), (3, 3)), {1: TAKEN, 2: REFUSED, 3: UNSURE}),
        (Transferred("jobs", (), (), (1, 9)), {1: UNSURE, 2: UNSURE, 3: UNSURE}),
        (Transferred("jobs", (4, 4)), {}),
        (Transferred("jobs", (1, 3), (2, 2)), {1: TAKEN, 2: TAKEN, 3: TAKEN}),
    ],
)
def test_an_answer_counts_for_open_pieces_that_may_have_been_sent(
    answer: Transferred, outcomes: dict[int, TransferOutcome]
) -> None:
    assert transfer(4, unwritten=1).outcomes_of(answer) == outcomes


def test_a_piece_is_resent_from_its_second_entry_on_and_its_moves_have_a_limit() -> None:
    it = transfer(2)
    it.out.going[2].queued.moves = MOST_MOVES
    it.out.going[2].queued.tried([(2, 2)])
    assert [it.entry(1), it.entry(1)] == [(1, False, 1, b""), (1, True, 1, b"")]
    number, is_again, moves, tries = it.entry(2)
    assert (number, is_again, moves, len(tries)) == (2, False, MOST_MOVES, 2)
