"""The model of visits, within small bounds."""

from tests.each import each
from tests.tools.models.walk import after
from tools.models.search import Bounds, explore
from tools.models.sessions.visits.model import VisitModel
from tools.models.sessions.visits.state import Limits

SMALL = [
    (Limits(messages=(1,), visits=2, crashes=1, cuts=0), (1111, 2252, 158)),
    (Limits(messages=(1,), visits=2, crashes=0, cuts=1), (1605, 4246, 229)),
]


@each("case", SMALL)
def test_no_state_violates_an_invariant(case: tuple[Limits, tuple[int, int, int]]) -> None:
    limits, numbers = case
    outcome = explore(VisitModel(limits), Bounds(every=7))
    assert outcome.violation is None
    assert outcome.is_complete
    assert (outcome.states, outcome.steps, outcome.at_rest) == numbers


MOVE = (
    "2 accepts 1", "2 sends 1 to 0", "client visits 1 with attach 2", "1 resumes at 2 from 1", "1 notifies 0",
    "1 releases 0 for masters 1",
)  # fmt: skip


def test_the_former_node_holds_a_message_until_it_is_released() -> None:
    model = VisitModel(Limits(crashes=0, cuts=0))
    assert after(model, *MOVE[:5]).nodes[0].feeds[0].held == 0b10
    released = after(model, *MOVE)
    assert (released.nodes[0].attach, released.nodes[0].feeds[0].held) == (0, 0)
    assert released.client.former == 0
    assert released.logs[0].deleted == 0, "the resume feed owes it"


def test_a_message_is_deleted_once_the_client_has_acknowledged_it_at_the_visited_node() -> None:
    model = VisitModel(Limits(crashes=0, cuts=0))
    last = ("2 resumes 1 at 1", "1 delivers 1 of master 0", "client acknowledges to 1")
    state = after(model, *MOVE, *last)
    assert state.logs[0].deleted == 0b10
    assert state.logs[0].resume is None
    assert state.client.received == (0b10,)


def test_a_node_that_knows_a_higher_attach_number_admits_no_visit_with_a_lower_one() -> None:
    model = VisitModel(Limits(crashes=0, cuts=0))
    node = model.first.nodes[1]._replace(known=2)
    state = model.first._replace(nodes=(model.first.nodes[0], node, model.first.nodes[2]))
    visits = [text for text, _ in model.steps(state) if "visits" in text]
    assert visits == ["client visits 2 with attach 2"]
