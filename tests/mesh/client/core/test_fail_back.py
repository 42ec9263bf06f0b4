"""When a client returns to the node that its user prefers."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mesh.client.core.fail_back import PAUSE, UP, FailBack, fail_back_policy
from mesh.errors import BadArgument


def test_a_client_returns_when_idle_to_a_node_that_has_been_up_for_a_minute() -> None:
    policy = FailBack("when_idle")
    assert not policy.is_due(100.0, 100.0 - UP + 0.1, True)
    assert not policy.is_due(100.0, 100.0 - UP, False)
    assert not policy.is_due(100.0, None, True)
    assert policy.is_due(100.0, 100.0 - UP, True)


def test_it_returns_once_in_ten_minutes() -> None:
    policy = FailBack("when_idle")
    assert policy.is_due(1000.0, 0.0, True)
    assert not policy.is_due(1000.0 + PAUSE - 0.1, 0.0, True)
    assert policy.is_due(1000.0 + PAUSE, 0.0, True)


@given(st.lists(st.tuples(st.floats(0, 300), st.none() | st.floats(0, 1e4), st.booleans()), max_size=50))
def test_by_default_it_never_returns_and_otherwise_never_soon(
    events: list[tuple[float, float | None, bool]],
) -> None:
    never, idle, now, last = FailBack(), FailBack("when_idle"), 0.0, float("-inf")
    for wait, up_since, is_idle in events:
        now += wait
        assert not never.is_due(now, up_since, is_idle)
        if idle.is_due(now, up_since, is_idle):
            assert is_idle and up_since is not None and now - up_since >= UP and now - last >= PAUSE
            last = now


@pytest.mark.parametrize("value", ["", "always", None, True, 1, float("nan"), ["never"]])
def test_another_policy_is_refused(value: Any) -> None:
    with pytest.raises(BadArgument, match="fail_back="):
        fail_back_policy(value)
