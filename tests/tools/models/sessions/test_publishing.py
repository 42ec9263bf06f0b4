"""The model of a publisher that moves, within small bounds."""

from tools.models.search import Bounds, explore
from tools.models.sessions.publishing import LATE, PublishModel


def test_no_state_with_a_rule_a_move_and_a_cut_violates_an_invariant() -> None:
    outcome = explore(PublishModel(visits=2, crashes=0, cuts=1), Bounds(every=3))
    assert outcome.violation is None
    assert (outcome.states, outcome.steps, outcome.at_rest) == (2887, 7008, 962)


def test_a_late_message_that_is_not_flagged_is_out_of_order() -> None:
    model = PublishModel(has_rule=False)
    assert model.violation(model.first._replace(arrived=(2, 3, 1 + LATE))) is None
    assert str(model.violation(model.first._replace(arrived=(2, 3, 1)))) == "S2: received as [2, 3, 1]"


def test_a_message_that_arrives_twice_is_a_violation_also_if_it_is_flagged() -> None:
    model = PublishModel(has_rule=False)
    assert str(model.violation(model.first._replace(arrived=(1, 2, 1 + LATE)))).startswith("S3")


def test_an_answer_without_the_message_at_the_master_is_a_violation() -> None:
    model = PublishModel()
    state = model.first._replace(client=model.first.client._replace(final=0b10))
    assert str(model.violation(state)).startswith("S1")
