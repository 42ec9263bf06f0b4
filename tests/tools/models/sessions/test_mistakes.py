"""Each planted mistake is found, by the invariant and after the states of this table."""

import pytest

from tools.models.planting import planted
from tools.models.search import Bounds, explore
from tools.models.sessions.mistakes import MISTAKES
from tools.models.sessions.scenarios import SESSIONS
from tools.models.sessions.visits.model import VisitModel
from tools.models.sessions.visits.state import Limits

FOUND = {
    "attach is not compared": ("S6", 2800),
    "since is ignored": ("S6", 200),
    "only what the last node is owed": ("S6", 350),
    "settles before the client has it": ("S1", 20),
    "settles when it learns of the move": ("S1", 63),
    "released after one master": ("S1", 280),
    "interest counts from later than the end": ("S6", 200),
    "resumed items count as repeats of the link": ("S6", 450),
    "client forgets what it had": ("S3", 450),
    "only the last node is named": ("S6", 100),
    "resume feed is not durable": ("S6", 1400),
    "a former node drops any resume feed": ("S1", 599),
    "client reads an old connection": ("S4", 196),
    "moved_to is not persisted": ("S5", 4093),
    "no record of what was given up": ("S6", 1800),
    "attach of HOLD is not compared": ("S9", 360),
    "claim is not repeated": ("S9", 575),
    "claims are believed": ("S9", 50),
    "ack is answered before the part has it": ("S7", 470),
    "not marked when it is given out": ("S8", 50),
    "given up without a flag": ("S8", 35),
    "route changed without RESUME": ("S6", 920),
    "slave resumes from what it received": ("S6", 38),
    "what was warned is not sent again": ("S6", 129),
    "numbers are not compared": ("S3", 159),
    "stored out of order": ("S2", 1605),
    "late messages are not flagged": ("S2", 225),
    "product: attach numbers are not compared": ("S6", 400),
    "product: a client names only its last node": ("S6", 100),
    "product: a pin begins at the end": ("S6", 200),
    "product: a pin ends when all is sent": ("S6", 200),
    "product: all that was received is settled": ("S1", 20),
    "product: messages above the resumed part are dropped": ("S1", 20),
    "product: a repeat is read": ("S3", 450),
    "product: all masters are confirmed with one": ("S1", 280),
    "product: a session is closed at the last release": ("S1", 280),
    "product: a former node does not wait for its release": ("S5", 299),
    "product: any claim is granted": ("S9", 30),
    "product: a redelivery is not marked": ("S8", 35),
    "product: warned messages are not resent": ("S6", 129),
    "product: a number is accepted twice": ("S3", 3),
    "product: overtaken messages are not flagged": ("S2", 225),
}
FOUND_SLOWLY = {
    "product: newer messages do not wait": ("S2", 8482),
    "new messages overtake resumed ones": ("S2", 8482),
    "one position for all masters": ("S6", 6150),
}


def found(mistake: str) -> tuple[str, int]:
    outcome = SESSIONS.search(MISTAKES[mistake].scenario, mistake)
    assert outcome.violation is not None
    return outcome.violation.invariant, outcome.states


@pytest.mark.parametrize("mistake", FOUND)
def test_a_planted_mistake_is_found(mistake: str) -> None:
    assert found(mistake) == FOUND[mistake]


@pytest.mark.slow
@pytest.mark.parametrize("mistake", FOUND_SLOWLY)
def test_a_planted_mistake_is_found_after_thousands_of_states(mistake: str) -> None:
    assert found(mistake) == FOUND_SLOWLY[mistake]


def test_new_messages_that_overtake_resumed_ones_are_found_with_one_move() -> None:
    with planted(MISTAKES["new messages overtake resumed ones"]):
        outcome = explore(VisitModel(Limits(visits=2, crashes=0, cuts=0)), Bounds(every=50))
    assert str(outcome.violation) == "S2: 1 after 2"
    assert outcome.states == 423


def test_each_mistake_is_in_a_table_and_each_invariant_is_violated_by_one() -> None:
    table = FOUND | FOUND_SLOWLY
    assert set(table) == set(MISTAKES)
    assert {invariant for invariant, _ in table.values()} == {f"S{number}" for number in range(1, 10)}
