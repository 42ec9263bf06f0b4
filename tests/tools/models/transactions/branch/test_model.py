"""The model of a branch, within small bounds."""

from mesh.routing.branches import DECIDED, PREPARED
from tests.each import each
from tests.tools.models.walk import after
from tools.models.search import Bounds, explore
from tools.models.transactions.branch.model import BranchModel
from tools.models.transactions.branch.state import FIRST, A, B, Limits, M, State
from tools.models.transactions.rules import COMMITTED

SMALL = [
    (Limits(stores=1, crashes=1), (2821, 7201)),
    (Limits(crashes=1, fulls=0, breaks=0), (1705, 4385)),
    (Limits(can_ask=True, crashes=1, fulls=0), (2982, 8722)),
]
HIDDEN = ("node receives: {}", "A writes: hidden rows", "B writes: hidden rows")


@each("case", SMALL)
def test_no_state_violates_an_invariant(case: tuple[Limits, tuple[int, int]]) -> None:
    limits, numbers = case
    outcome = explore(BranchModel(limits), Bounds())
    assert outcome.violation is None
    assert outcome.is_complete
    assert (outcome.states, outcome.steps) == numbers


def walked(limits: Limits, *texts: str) -> State:
    command = "prepare" if limits.is_outer else "commit"
    hidden = [text.format(command) for text in HIDDEN]
    return after(BranchModel(limits), f"client sends {command}", *hidden, *texts)


def test_all_operations_become_visible_at_once() -> None:
    finish = ("M writes: decision", "A writes: visible rows", "B writes: visible rows")
    decided = walked(Limits(), *finish)
    assert (decided.visible, decided.hidden, decided.branch, decided.answer) == (0, 0, DECIDED, "")
    done = walked(Limits(), *finish, "M writes: no decision")
    assert (done.visible, done.answer, done.row) == (A | B | M, COMMITTED, FIRST)


def test_a_decided_transaction_is_finished_before_the_node_serves() -> None:
    steps = ("M writes: decision", "crash", "node starts", "node recovers")
    state = walked(Limits(), *steps)
    assert [job.kind for job in state.jobs[0]] == ["visible rows"]


def test_hidden_rows_without_a_decision_are_dropped_at_a_start() -> None:
    state = walked(Limits(), "crash", "node starts", "node recovers", "A writes: no hidden rows")
    assert (state.hidden, state.visible) == (B, 0)


def test_a_prepared_transaction_keeps_its_delivery_over_a_restart() -> None:
    limits = Limits(is_outer=True)
    steps = ("M writes: prepared row", "crash", "node starts", "node recovers")
    state = walked(limits, *steps)
    assert (state.phase, state.hidden) == (PREPARED, A | B)
    assert "the lease ends" not in dict(BranchModel(limits).steps(state))


def test_a_visible_part_alone_is_a_violation() -> None:
    model = BranchModel(Limits())
    assert str(model.violation(model.first._replace(visible=B))).startswith("T1")


def test_a_row_that_is_left_at_rest_is_a_violation() -> None:
    model = BranchModel(Limits())
    assert str(model.violation(model.first._replace(hidden=A))).startswith("T6")
