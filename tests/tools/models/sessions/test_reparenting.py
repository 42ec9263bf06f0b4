"""The model of a slave that changes its parent, within small bounds."""

from tools.models.search import Bounds, Violation, explore
from tools.models.sessions.reparenting import ReparentModel


def test_no_state_without_a_crash_violates_an_invariant() -> None:
    outcome = explore(ReparentModel(crashes=0), Bounds())
    assert outcome.violation is None
    assert (outcome.states, outcome.steps, outcome.at_rest) == (605, 1327, 604)


def test_a_deleted_message_that_the_application_lacks_is_a_violation() -> None:
    model = ReparentModel()
    state = model.first._replace(m=model.first.m._replace(length=2, deleted=0b110))
    assert model.violation(state._replace(client=state.client._replace(received=0b10))) == Violation(
        "S1", "M deleted 2, which the application does not have"
    )
