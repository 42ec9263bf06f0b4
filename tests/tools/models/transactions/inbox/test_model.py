"""The model of consumers with an inbox, within small bounds."""

from tests.tools.models.walk import after
from tools.models.search import Bounds, explore
from tools.models.transactions.inbox.model import InboxModel


def test_no_state_without_crashes_violates_an_invariant() -> None:
    outcome = explore(InboxModel(crashes=0), Bounds())
    assert outcome.violation is None
    assert outcome.is_complete
    assert (outcome.states, outcome.steps) == (3566, 9576)


COMMITTED = ("node delivers 0 to 0", "0 begins 0", "0 commits 0")


def test_a_job_comes_again_after_a_crash_before_its_ack_and_has_no_second_effect() -> None:
    again = ("crash of consumer 0", "the lease of 0 ends", "node delivers 0 to 1", "1 has done 0 before")
    state = after(InboxModel(), *COMMITTED, *again, "1 acknowledges 0")
    assert (state.effects[0], state.rows[0], state.acked[0]) == (1, 1, True)


def test_a_consumer_waits_for_the_open_transaction_of_another_one() -> None:
    model = InboxModel()
    state = after(model, *COMMITTED[:2], "the lease of 0 ends", "node delivers 0 to 1")
    assert not [text for text, _ in model.steps(state) if text.startswith("1 ")]


def test_a_redelivered_job_whose_row_may_be_deleted_is_given_up_by_name() -> None:
    days = "clock: days pass, and the inbox rows are deleted"
    again = ("crash of consumer 0", "the lease of 0 ends", days, "node delivers 0 to 1")
    state = after(InboxModel(), *COMMITTED, *again, "1 gives 0 up: UNKNOWN")
    assert (state.effects[0], state.dead[0], state.acked[0]) == (1, True, True)
