"""The model of an outbox, within small bounds."""

from tests.each import each
from tests.tools.models.walk import after
from tools.models.search import Bounds, explore
from tools.models.transactions.outbox.model import OutboxModel
from tools.models.transactions.outbox.state import Limits, Row

SMALL = [(Limits(rows=1), (1051, 2910)), (Limits(rows=1, senders=1, backups=1, crashes=0), (240, 345))]


@each("case", SMALL)
def test_no_state_violates_an_invariant(case: tuple[Limits, tuple[int, int]]) -> None:
    limits, numbers = case
    outcome = explore(OutboxModel(limits), Bounds())
    assert outcome.violation is None
    assert outcome.is_complete
    assert (outcome.states, outcome.steps) == numbers


WRITTEN = ("producer 0 begins", "producer 0 commits", "sender 0 takes the stream", "sender 0 numbers")
SENT = ("sender 0 sends 1", "node stores 1")


def test_a_row_stays_until_its_final_answer() -> None:
    state = after(OutboxModel(Limits()), *WRITTEN, *SENT, "master accepts 1")
    assert state.database.rows == (Row(0, 1),)
    state = after(OutboxModel(Limits()), *WRITTEN, *SENT, "master accepts 1", "sender 0 deletes 1")
    assert (state.database.rows, state.log) == ((), (0,))


def test_the_second_sender_sends_the_same_number_and_the_master_drops_it() -> None:
    steps = ("sender 1 takes the stream", "sender 1 sends 1", "node stores 1", "master answers 1 again")
    state = after(OutboxModel(Limits()), *WRITTEN, *SENT, "master accepts 1", *steps)
    assert state.log == (0,)


def test_a_sender_whose_lease_is_over_numbers_nothing() -> None:
    model = OutboxModel(Limits())
    state = after(model, *WRITTEN[:3], "sender 1 takes the stream")
    assert [text for text, _ in model.steps(state) if text.startswith("sender 0")] == [
        "sender 0 finds the stream taken"
    ]


def test_a_refused_row_has_another_number() -> None:
    steps = ("master refuses 1", "sender 0 renews 1, which is refused")
    state = after(OutboxModel(Limits(refusals=1)), *WRITTEN, *SENT, *steps)
    assert (state.database.rows, state.database.next_number) == ((Row(0, 2),), 3)
