"""The point at which a simulated process crashes on request."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import pytest

from mesh.kernel.context.effects import Commit
from mesh.operations import Append, Delete, Drop, Op, Put
from tests.seeds import scenarios
from tools.simulator.profiles import SHORT
from tools.simulator.script import with_steps
from tools.simulator.stage.stage import Stage
from tools.simulator.steps import Step
from tools.simulator.world.crashes import POINTS, awaited
from tools.simulator.world.machine import HarshNode
from tools.simulator.writing import written

ARMED, COMMITTED = 10.0, 11.0  # s: all nodes have met, and none publishes
ENOUGH = 12.0  # s of a run
MET = Put("peer", b"key", b"row")


@pytest.mark.parametrize(
    ("ops", "is_awaited"),
    [
        ((Append(1, b"header", b"body"),), True),
        ((Put("position", b"key", b"row"), Drop((1,))), True),
        ((Delete("retained", b"key"),), True),
        ((MET, Put("feed", b"key", b"row")), True),
        ((), True),  # an empty commit waits for earlier ones
        ((MET,), False),
        ((MET, Delete("peer", b"other")), False),
    ],
)
def test_any_commit_is_waited_for_but_one_of_nodes_that_were_met(
    ops: tuple[Op, ...], is_awaited: bool
) -> None:
    assert awaited(Commit(1, ops)) is is_awaited
    assert not awaited(Commit(None, ops))


def crashes(point: str, *ops: Op) -> int:
    """Return how often a node that is told to crash at `point` crashes when it commits `ops`."""
    stage = Stage(replace(with_steps(written(1, SHORT), ()), seconds=ENOUGH))
    name = stage.script.nodes[0]
    commit: Callable[[HarshNode], None] = lambda node: node.core.parts.disk.commit(ops, lambda error: None)  # noqa: E731
    stage.net.at(ARMED, partial(stage.do, Step(0.0, "arm", (name, point, 1.0))))
    stage.net.at(COMMITTED, partial(commit, stage.nodes[name]))
    stage.net.at(COMMITTED, stage.nodes[name]._carry_out_all)
    history = stage.played()
    assert [event.text for event in history.of("problem")] == []
    return history.counts[f"crash {point}"]


@pytest.mark.usefixtures("soon_over")
@pytest.mark.parametrize("point", scenarios(POINTS))
def test_a_commit_without_a_message_is_crashed_too(point: str) -> None:
    assert crashes(point, Put("weights", b"key", b"row")) == 1


@pytest.mark.usefixtures("soon_over")
def test_one_of_nodes_that_were_met_is_not() -> None:
    assert crashes("in the commit", MET) == 0
