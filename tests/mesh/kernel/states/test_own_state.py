"""The states that a node sends about itself."""

from typing import Any
from unittest.mock import Mock

from mesh.discovery.state import Sample, Summary
from mesh.kernel.context.component import Beginning
from mesh.kernel.states.own_state import RATES, OwnState
from mesh.operations import Image, StoreReach

COUNTS = (
    "pending", "tailed_back", "stored_envelopes", "sessions", "subscriptions", "data_links", "request_p50",
    "request_p99", "queue_messages", "queue_consumers",
)  # fmt: skip


class Stage:
    """A node that started at 100 s, with a store that has reached log 7."""

    def __init__(self) -> None:
        self.context: Any = Mock(clock=Mock(now=100.0, wall=10**18))
        self.context.me.name, self.context.me.uuid, self.context.me.boot = "heron", b"h" * 16, 3
        self.figures: dict[str, float] = dict.fromkeys((*RATES, *COUNTS), 0)
        self.context.figures.side_effect = lambda: dict(self.figures)
        self.shared: dict[str, Summary] = {}
        self.own = OwnState(self.context, "heronry 1", Mock(names=("bilbo",)), self.shared)
        self.own.start(Beginning(Mock(spec=Image), None, lambda: StoreReach(7, 8)))

    def state(self, after: float = 10.0) -> Any:
        self.context.clock.now += after
        return self.own.measure(Sample((50.0,), 1, 2))


def test_each_state_has_the_next_number_and_says_how_long_the_node_runs() -> None:
    stage = Stage()
    states = [stage.state() for _ in range(3)]
    assert [state.counter for state in states] == [1, 2, 3]
    assert [state.up for state in states] == [10.0, 20.0, 30.0]
    one = states[0]
    assert (one.name, one.boot, one.software, one.ways, one.log, one.commits) == (
        "heron", 3, "heronry 1", ("bilbo",), 7, 8,
    )  # fmt: skip


def test_rates_are_those_since_the_last_state_and_never_negative() -> None:
    stage = Stage()
    stage.figures["published"] = 50
    assert stage.state().published == 0.0, "nothing to compare with"
    stage.figures["published"] += 30
    assert stage.state().published == 3.0
    stage.figures["published"] = 5
    assert stage.state().published == 0.0
    stage.figures["published"] += 1
    assert stage.state(0.0).published == 1000.0, "two states at one time"


def test_shared_rows_are_announced_and_those_of_weights_for_earlier_releases_as_well() -> None:
    stage = Stage()
    assert (stage.state().weights, stage.state().shared) == (0, ())
    stage.shared |= {"weights": Summary("weights", 9, b"w"), "rules": Summary("rules", 4, b"r")}
    state = stage.state()
    assert (state.weights, state.shared) == (9, (*stage.shared.values(),))
