"""Do stories of rules that change find a mistake, and none where there is none?"""

from __future__ import annotations

import pytest

from tools.rule_stories import PLANTED, planted, told

pytestmark = pytest.mark.whole


def test_a_story_breaks_nothing() -> None:
    story = told(3)
    assert story.broken == [] and story.counts["a change: OK"]


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_mistake_is_found(name: str) -> None:
    with planted(name):
        assert any(told(seed).broken for seed in range(12))
