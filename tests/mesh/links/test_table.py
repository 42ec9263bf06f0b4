import pytest

from mesh.errors import LocalError
from mesh.links.table import LINK_TABLE, LinkAction, LinkEvent, LinkState, step
from tests.mesh.tables import drawn, reached

# Written by hand, to detect mistakes in the table. L logged in, P polling, N not allowed, - cannot happen.
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
REACHED              L       P       N
DUE                  -       P       N
"""
LETTERS = {"L": LinkState.LOGGED_IN, "P": LinkState.POLLING, "N": LinkState.NOT_ALLOWED}
CELLS = drawn(LEADS_TO, LinkEvent, LETTERS)
LEGAL = [(state, event) for state, row in LINK_TABLE.items() for event in row]


def test_the_hand_written_table_names_every_cell() -> None:
    assert {(state, event) for event, state, _ in CELLS} == {(s, e) for s in LinkState for e in LinkEvent}


@pytest.mark.parametrize(("event", "start", "target"), CELLS)
def test_each_cell_leads_where_it_should(
    event: LinkEvent, start: LinkState, target: LinkState | None
) -> None:
    assert (cell[0] if (cell := LINK_TABLE[start].get(event)) else None) is target


def test_what_cannot_happen_says_where_the_legal_cells_are() -> None:
    with pytest.raises(LocalError, match="DUE is impossible in the state LOGGED_IN") as caught:
        step(LINK_TABLE, LinkState.LOGGED_IN, LinkEvent.DUE, "docs/links.md", "LINK_EVENT")
    assert caught.value.code == "LINK_EVENT"


@pytest.mark.parametrize("start", LinkState)
@pytest.mark.parametrize("target", LinkState)
def test_each_state_can_be_reached_from_each(start: LinkState, target: LinkState) -> None:
    assert target in reached(LINK_TABLE, start)


def test_no_cell_dials_while_logged_in_or_on_the_way_into_a_refusal() -> None:
    for state, event in LEGAL:
        target, actions = LINK_TABLE[state][event]
        if target is LinkState.LOGGED_IN or (target is LinkState.NOT_ALLOWED and state is not target):
            assert LinkAction.DIAL not in actions, (state, event)


def test_leaving_a_login_hangs_up_and_entering_one_resumes() -> None:
    for state, event in LEGAL:
        target, actions = LINK_TABLE[state][event]
        if state is LinkState.LOGGED_IN and target is not state:
            assert actions[0] is LinkAction.HANG_UP, (state, event)
        if target is LinkState.LOGGED_IN and state is not target:
            assert actions == (LinkAction.RESUME,), (state, event)


def test_a_refusal_is_noted_once_when_it_begins() -> None:
    for state, event in LEGAL:
        target, actions = LINK_TABLE[state][event]
        begins = target is LinkState.NOT_ALLOWED and state is not target
        assert (LinkAction.NOTE in actions) == begins, (state, event)


@pytest.mark.parametrize("event", LinkEvent)
def test_two_waits_never_stand_in_one_cell(event: LinkEvent) -> None:
    waits = {LinkAction.BACK_OFF, LinkAction.RETRY_RARELY, LinkAction.FORGIVE}
    assert all(len(waits & set(row[event][1])) <= 1 for row in LINK_TABLE.values() if event in row)
