"""The scenarios violate nothing, and have the numbers of states and steps of this table."""

import pytest

from tools.models.transactions.scenarios import SCENARIOS, TRANSACTIONS

COMPLETE = {"one store, asks": (7_118, 23_370)}
COMPLETE_SLOWLY = {
    "one store": (14_396, 45_217),
    "three stores": (60_687, 246_569),
    "three stores, asks": (22_028, 82_593),
    "prepared": (127_776, 504_820),
    "jobs": (18_377, 82_484),
    "senders, refusal": (14_847, 58_734),
    "senders, restore": (48_426, 101_649),
    "one home": (39_882, 190_784),
    "one home, key": (18_792, 86_976),
}
FOR_THE_NIGHT = {
    "senders": (318_333, 1_292_238),
    "two senders, restore": (383_656, 1_387_923),
    "leash, cut": (424_074, 2_079_855),
    "leash, cut, long lease": (387_465, 1_914_921),
    "leash, crash": (658_864, 3_454_018),
    "leash, cut and crash": (1_827_012, 10_864_456),
    "leash, key": (841_287, 4_020_072),
}


def complete(name: str) -> tuple[int, int]:
    outcome = TRANSACTIONS.search(name)
    assert outcome.violation is None
    assert outcome.is_complete
    return outcome.states, outcome.steps


@pytest.mark.parametrize("name", COMPLETE)
def test_a_small_scenario_is_complete_and_violates_nothing(name: str) -> None:
    assert complete(name) == COMPLETE[name]


@pytest.mark.slow
@pytest.mark.parametrize("name", COMPLETE_SLOWLY)
def test_a_scenario_is_complete_and_violates_nothing(name: str) -> None:
    assert complete(name) == COMPLETE_SLOWLY[name]


def test_each_scenario_is_in_a_table_and_the_large_ones_are_for_the_night() -> None:
    large = {name for name, one in SCENARIOS.items() if one.is_large}
    assert large == set(FOR_THE_NIGHT)
    assert set(SCENARIOS) - large == {*COMPLETE, *COMPLETE_SLOWLY, "one home, forced while the old one runs"}
