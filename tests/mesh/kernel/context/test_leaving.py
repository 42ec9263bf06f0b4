"""The order of the steps of a drain, and how long each may last."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mesh.kernel.context.leaving import LIMITS, Leaving, Step, next_step

STEPS = [step for step in Step if Step.STAYING < step < Step.DONE]


def test_a_node_leaves_in_this_order() -> None:
    assert [step.name for step in sorted(Step)] == [
        "STAYING", "CLOSED", "QUIET", "CLIENTS", "QUEUES", "OUTBOUND", "LOG", "DONE",
    ]  # fmt: skip


@pytest.mark.parametrize("step", STEPS)
def test_a_step_lasts_while_something_of_it_moves(step: Step) -> None:
    assert next_step(step, 5.0, 5.1, {step}) is step
    assert next_step(step, 5.0, 5.1, set()) is Step.DONE
    later = Step(step + 1)
    assert next_step(step, 5.0, 5.1, {later}) is later


def test_calls_in_progress_delay_the_clients_for_a_limited_time() -> None:
    moving = {Step.QUIET, Step.CLIENTS}
    limit = LIMITS[Step.QUIET]
    assert next_step(Step.QUIET, 0.0, limit - 0.1, moving) is Step.QUIET
    assert next_step(Step.QUIET, 0.0, limit, moving) is Step.CLIENTS
    assert next_step(Step.CLIENTS, 0.0, 1e6, moving) is Step.CLIENTS, "clients may take as long as they need"


@given(st.sets(st.sampled_from(STEPS)), st.floats(0, 1e6))
def test_a_node_that_is_not_drained_never_begins_and_an_emptied_one_stays_so(
    moving: set[Step], now: float
) -> None:
    assert next_step(Step.STAYING, 0.0, now, moving) is Step.STAYING
    assert next_step(Step.DONE, 0.0, now, moving) is Step.DONE


def test_consumers_are_quiet_from_the_second_step_on() -> None:
    leaving = Leaving()
    quiet = []
    for step in Step:
        leaving.enter_step(step, 0.0)
        quiet.append(leaving.is_quiet)
        assert leaving.is_on is (leaving.step is not Step.STAYING)
    assert quiet == [False, False, True, True, True, True, True, True]
