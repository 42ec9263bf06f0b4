"""The leash: the latest time since which a majority has answered, and the silence of voters."""

from __future__ import annotations

from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mesh.flow.leash import (
    LEASH,
    SILENCE,
    answered_since,
    is_majority,
    leash_left,
    may_grant_claim,
    may_serve,
    silence_left,
)


@given(sent=st.lists(st.floats(0, 100), max_size=5), nodes=st.integers(1, 5))
def test_law_1_a_majority_has_answered_since_then_and_not_since_any_later_time(
    sent: list[float], nodes: int
) -> None:
    sent = sent[:nodes]
    since = answered_since(sent, nodes)
    answers = sum(each >= since for each in sent)
    assert is_majority(answers, nodes) or since == -inf
    assert not is_majority(sum(each > since for each in sent), nodes)


def test_law_1_the_leash_counts_from_the_sending() -> None:
    assert leash_left(LEASH, 3.0) == 5.0
    assert not may_serve(is_home=True, has_voters=True, leash=leash_left(LEASH, LEASH))
    assert not may_serve(is_home=True, has_voters=True, leash=leash_left(LEASH, inf))
    assert may_serve(is_home=True, has_voters=False, leash=0)


def test_law_2_a_leash_is_over_before_any_voter_votes_although_clocks_drift() -> None:
    assert silence_left(-inf, 5.0, 5.0 + SILENCE - 1) == 1.0
    assert silence_left(6.0, 5.0, 5.0 + SILENCE) == 1.0
    assert silence_left(6.0, 5.0, 99.0) == 0.0
    assert LEASH * 1.2 < SILENCE


@pytest.mark.parametrize(
    ("claimed", "promised", "silence", "is_handed_over", "is_granted"),
    [
        (2, 1, 0, False, True),
        (2, 1, 0.1, False, False),
        (2, 1, 0.1, True, True),
        (2, 2, 0, True, False),
        (1, 2, 0, True, False),
    ],
)
def test_law_2_a_voter_grants_a_newer_claim_after_a_silence_or_of_the_home(
    claimed: int, promised: int, silence: float, is_handed_over: bool, is_granted: bool
) -> None:
    assert may_grant_claim(claimed, promised, silence, is_handed_over) == is_granted
