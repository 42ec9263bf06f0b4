import pytest

from mesh.errors import LocalError
from mesh.links.table import LINK_TABLE, Action, Event, State, step
from tests.mesh.tables import drawn, reached

# Written by hand, against slips in the table. L logged in, P polling, N not allowed, - cannot happen.
LEADS_TO = """
                from L  from P  from N
WANTED               L       P       N
UNWANTED             L       P       N
HELLO                L       L       L
REFUSED              N       N       N
DENIED               N       N       N
ALLOWED              L       P       P
SILENCE              P       P       N
BYE                  P       P       N
DISCONNECTED         P       P       N
ADDRESS              L       P       N
RESTARTED            P       P       N
DUE                  -       P       N
"""
LETTERS = {"L": State.LOGGED_IN, "P": State.POLLING, "N": State.NOT_ALLOWED}
CELLS = drawn(LEADS_TO, Event, LETTERS)
LEGAL = [(state, event) for state, row in LINK_TABLE.items() for event in row]


def test_the_hand_written_table_names_every_cell() -> None:
    assert {(state, event) for event, state, _ in CELLS} == {(s, e) for s in State for e in Event}


@pytest.mark.parametrize(("event", "start", "target"), CELLS)
def test_each_cell_leads_where_it_should(event: Event, start: State, target: State | None) -> None:
    assert (cell[0] if (cell := LINK_TABLE[start].get(event)) else None) is target


def test_what_cannot_happen_says_where_the_legal_cells_are() -> None:
    with pytest.raises(LocalError, match="DUE while LOGGED_IN") as caught:
        step(LINK_TABLE, State.LOGGED_IN, Event.DUE, "docs/links.md", "LINK_EVENT")
    assert caught.value.code == "LINK_EVENT"


@pytest.mark.parametrize("start", State)
@pytest.mark.parametrize("target", State)
def test_each_state_can_be_reached_from_each(start: State, target: State) -> None:
    assert target in reached(LINK_TABLE, start)


@pytest.mark.parametrize(("state", "event"), LEGAL)
def test_no_cell_dials_while_logged_in_or_on_the_way_into_a_refusal(state: State, event: Event) -> None:
    target, actions = LINK_TABLE[state][event]
    if target is State.LOGGED_IN or (target is State.NOT_ALLOWED and state is not target):
        assert Action.DIAL not in actions


@pytest.mark.parametrize(("state", "event"), LEGAL)
def test_leaving_a_login_hangs_up_and_entering_one_resumes(state: State, event: Event) -> None:
    target, actions = LINK_TABLE[state][event]
    if state is State.LOGGED_IN and target is not state:
        assert actions[0] is Action.HANG_UP
    if target is State.LOGGED_IN and state is not target:
        assert actions == (Action.RESUME,)


@pytest.mark.parametrize(("state", "event"), LEGAL)
def test_a_refusal_is_noted_once_when_it_begins(state: State, event: Event) -> None:
    target, actions = LINK_TABLE[state][event]
    begins = target is State.NOT_ALLOWED and state is not target
    assert (Action.NOTE in actions) == begins


@pytest.mark.parametrize("event", Event)
def test_two_waits_never_stand_in_one_cell(event: Event) -> None:
    waits = {Action.BACK_OFF, Action.RETRY_RARELY, Action.FORGIVE}
    assert all(len(waits & set(row[event][1])) <= 1 for row in LINK_TABLE.values() if event in row)
