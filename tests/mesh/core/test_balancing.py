"""Is the strategy shown what is known, and does what must stay together stay?"""

from collections.abc import Sequence

import pytest

from balancers.base import Candidate, Message, NodeInfo, Strategy
from mesh.core.desk.desk import Desk
from mesh.core.desk.settings import Settings
from mesh.core.ways.balancing import Balancing
from mesh.wire.commands import Introduction

ME = Introduction(b"m" * 16, "bilbo", 1, "")
ABC = ("a", "b", "c")


class Last(Strategy):
    """Picks the last, and remembers what it was shown."""

    shown: Sequence[Candidate] = ()
    info: NodeInfo | None = None

    def pick(self, candidates: Sequence[Candidate], message: Message | None = None) -> str:
        self.shown = candidates
        return candidates[-1].node

    def started(self, node_info: NodeInfo) -> None:
        self.info = node_info


@pytest.fixture
def desk() -> Desk:
    return Desk(Settings(me=ME), lambda n: bytes(n), lambda: 0.5)


@pytest.fixture
def strategy() -> Last:
    return Last(lambda: 0.5)


@pytest.fixture
def balancing(desk: Desk, strategy: Last) -> Balancing:
    return Balancing(desk, strategy, lambda node: None, lambda node: None, lambda node: 1.0)


def test_it_says_for_whom_it_chooses(balancing: Balancing, strategy: Last) -> None:
    assert strategy.info == NodeInfo("bilbo", ME.uuid, 2.0)


def test_for_the_same_purpose_it_is_the_same_node_as_long_as_that_would_do(balancing: Balancing) -> None:
    assert [balancing.choose(nodes, "s") for nodes in (ABC, ("c", "a"), ("c", "b", "a"))] == ["c", "c", "c"]
    assert balancing.choose(("a", "b"), "s") == "b"
    assert balancing.choose(ABC, "s") == "b", "it does not move back"
    assert balancing.choose(ABC, "another") == "c"


def test_without_a_purpose_it_is_a_new_choice(balancing: Balancing) -> None:
    assert [balancing.choose(nodes, None) for nodes in (ABC, ("a", "b"), ABC)] == ["c", "b", "c"]


def test_the_strategy_sees_what_a_node_has_said_of_itself(desk: Desk, strategy: Last) -> None:
    states = {"a": (0.25, 1.5, 4096)}
    balancing = Balancing(desk, strategy, lambda node: None, states.get, lambda node: 1.0)
    balancing.choose(("a", "b"), None)
    known, unknown = strategy.shown
    assert (known.load, known.age, known.ram_free) == (0.25, 1.5, 4096)
    assert (unknown.load, unknown.age, unknown.ram_free) == (None, None, None)


def test_the_strategy_sees_how_much_a_node_counts(desk: Desk, strategy: Last) -> None:
    weights = {"a": 2.5, "b": 1.0}
    balancing = Balancing(desk, strategy, lambda node: None, lambda node: None, weights.__getitem__)
    balancing.choose(("a", "b"), None)
    assert [candidate.weight for candidate in strategy.shown] == [2.5, 1.0]


def test_own_choices_count_until_the_node_can_have_said_so(
    balancing: Balancing, strategy: Last, desk: Desk
) -> None:
    for _ in range(10):
        balancing.choose(("a", "b"), None)
    assert [round(c.sent) for c in strategy.shown] == [0, 9]
    desk.now += 60.0
    balancing.choose(("a", "b"), None)
    assert [round(c.sent) for c in strategy.shown] == [0, 0]
