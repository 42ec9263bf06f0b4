"""The model of a home, within small bounds."""

from typing import Any

from tests.each import each
from tests.tools.models.walk import after
from tools.models.search import Bounds, explore
from tools.models.transactions.home.model import HomeModel
from tools.models.transactions.home.state import HOLDS, Limits, serves

TICK: dict[str, Any] = {"lease": 1, "silence": 1, "leash": 1}
ALONE: dict[str, Any] = {"has_voters": False, "lease": 1, "silence": 0, "leash": 0}
SMALL = [
    (Limits(**ALONE, has_lock=False, has_key=True, crashes=0), (768, 2920)),
    (Limits(**TICK, has_lock=False, crashes=0, hands_over=False), (1044, 3358)),
]


@each("case", SMALL)
def test_no_state_violates_an_invariant(case: tuple[Limits, tuple[int, int]]) -> None:
    limits, numbers = case
    outcome = explore(HomeModel(limits), Bounds())
    assert outcome.violation is None
    assert outcome.is_complete
    assert (outcome.states, outcome.steps) == numbers


LEASHED = ("H0 sends a heartbeat", "2 answers the heartbeat of H0", "H0 has its leash")
GRANTED = ("client 0 asks", "H0 grants (1, 1) to 0", "client 0 receives the grant")


def test_a_home_serves_while_its_leash_holds() -> None:
    limits = Limits(**TICK)
    model = HomeModel(limits)
    assert not serves(limits, model.first, 0)
    assert serves(limits, after(model, *LEASHED), 0)
    assert not serves(limits, after(model, *LEASHED, "tick"), 0)


def test_voters_vote_after_a_silence_and_the_new_home_grants_after_a_full_lease() -> None:
    claim = ("tick", "H1 claims generation 2", "2 votes for H1", "H1 is home", "client 1 asks")
    beat = ("H1 sends a heartbeat", "2 answers the heartbeat of H1", "H1 has its leash")
    model = HomeModel(Limits(**TICK | {"leash": 2}))
    early = after(model, *LEASHED, *GRANTED, "cut", *claim, *beat)
    assert early.homes[1].quiet == 1
    assert "H1 grants (2, 1) to 1" not in dict(model.steps(early))
    assert "H1 grants (2, 1) to 1" in dict(
        model.steps(after(model, *LEASHED, *GRANTED, "cut", *claim, *beat, "tick"))
    )


def test_a_hand_over_brings_the_owner_of_the_lock() -> None:
    model = HomeModel(Limits(**ALONE))
    state = after(model, *GRANTED, "H0 hands over", "H1 takes over")
    assert (state.homes[1].owner, state.homes[1].token, state.homes[1].generation) == (0, (1, 1), 2)
    assert state.homes[0].is_moved


def test_a_lease_is_full_again_after_a_restart() -> None:
    state = after(HomeModel(Limits(**ALONE)), *GRANTED, "crash of 0", "start of 0")
    assert state.homes[0].lease == 1


def test_two_holders_are_a_violation() -> None:
    model = HomeModel(Limits(**ALONE))
    holder = after(model, *GRANTED).clients[0]
    assert holder.stage == HOLDS
    assert str(model.violation(model.first._replace(clients=(holder, holder)))).startswith("K4")
