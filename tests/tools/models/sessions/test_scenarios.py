"""The scenarios violate nothing, and have the numbers of states and steps of this table."""

import pytest

from tools.models.sessions.scenarios import SESSIONS

COMPLETE = {
    "other subscribers, one move": (56_064, 191_244),
    "queue": (49_444, 227_648),
    "route": (66_791, 206_312),
    "publish without a rule": (131_040, 508_289),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", COMPLETE)
def test_a_scenario_is_complete_and_violates_nothing(name: str) -> None:
    outcome = SESSIONS.search(name)
    assert outcome.violation is None
    assert outcome.is_complete
    assert (outcome.states, outcome.steps) == COMPLETE[name]
