"""Laws of balancers/base.py that all strategies keep."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from statistics import mean

import pytest
from hypothesis import given
from hypothesis import strategies as st

import mesh
from mesh.balancers import plugins
from mesh.balancers.base import Balancer, Candidate, Message, NoCandidates, NodeInfo, Strategy
from mesh.balancers.guarded import Guarded
from tests.balancers.candidates import Headers, Sample, chance, fresh, named


class Plain(Strategy):
    """The smallest strategy that a plug-in can define."""

    def pick(self, candidates: Sequence[Candidate], message: Message | None = None) -> str:
        return min(candidates, key=lambda candidate: (candidate.sent, candidate.node)).node


def made(name: str, seed: int = 0) -> Balancer:
    match name:
        case "Plain":
            return Plain(chance(seed))
        case "Guarded":
            return Guarded("guarded", Plain(chance(seed)), chance(seed))
        case _:
            return plugins.named(name, chance(seed))


NAMES = [*plugins.OURS, "Plain", "Guarded"]
every = pytest.mark.parametrize("name", NAMES)
candidates = st.lists(
    st.builds(
        Candidate,
        node=st.text("abcdefgh", min_size=1, max_size=3),
        load=st.none() | st.floats(0, 1),
        age=st.none() | st.floats(0, 99),
        latency=st.floats(0, 9),
        outstanding=st.integers(0, 9),
        sent=st.floats(0, 999),
        weight=st.floats(),
        ram_free=st.none() | st.integers(0, 2**64),
        metadata=st.dictionaries(st.sampled_from(["rack", "zone"]), st.text(max_size=2)),
        consumers=st.integers(-1, 4),
        is_here=st.booleans(),
    ),
    min_size=1,
    max_size=9,
    unique_by=lambda candidate: candidate.node,
)


values = st.dictionaries(st.just("sticky"), st.text(max_size=3))


@given(
    candidates=candidates,
    n=st.integers(0, 40),
    seed=st.integers(0, 9),
    message=st.none() | st.builds(Sample, headers=st.builds(Headers, values)),
)
def test_only_candidates_are_named_and_nobody_is_lost(
    candidates: list[Candidate], n: int, seed: int, message: Sample | None
) -> None:
    nodes = [candidate.node for candidate in candidates]
    for name in NAMES:
        balancer = made(name, seed)
        balancer.started(NodeInfo("me", metadata={"rack": "r"}))
        assert balancer.pick(candidates, message) in nodes, name
        assert sorted(balancer.order(candidates, message)) == sorted(nodes), name
        assert sorted(balancer.several(candidates, message)) == sorted(nodes), name
        counts = balancer.assign(candidates, n, message)
        assert sum(counts.values()) == n, name
        assert counts.keys() <= set(nodes) and all(count > 0 for count in counts.values()), name


@pytest.mark.parametrize("name", [*plugins.OURS, "Guarded"])
def test_with_nobody_to_choose_from_the_error_has_a_name(name: str) -> None:
    balancer = made(name)
    for ask in (balancer.pick, balancer.order, balancer.several, lambda none: balancer.assign(none, 1)):
        with pytest.raises(NoCandidates, match="mesh ls") as caught:
            ask([])
        assert caught.value.code == "NO_CANDIDATES"


@every
def test_a_single_candidate_gets_everything(name: str) -> None:
    [only] = named("a")
    balancer = made(name)
    assert (balancer.pick([only]), balancer.order([only]), balancer.assign([only], 7)) == (
        "a",
        ["a"],
        {"a": 7},
    )


@every
def test_to_assign_nothing_is_no_mistake(name: str) -> None:
    assert made(name).assign(named("a b"), 0) == {}


@every
def test_the_first_of_an_order_is_what_pick_would_have_said(name: str) -> None:
    among = [fresh("a", 0.2), fresh("b", 0.6), fresh("c", 0.21), fresh("d", 0.9)]
    for seed in range(20):
        assert made(name, seed).order(among)[0] == made(name, seed).pick(among)


@every
def test_three_equal_nodes_get_a_third_each(name: str) -> None:
    balancer = made(name)
    counts: Counter[str] = Counter()
    sent = dict.fromkeys("abc", 0)
    for _ in range(900):
        node = balancer.pick([replace(fresh(name), sent=sent[name]) for name in "abc"])
        sent[node] += 1
        counts[node] += 1
    assert all(count == pytest.approx(300, rel=0.05) for count in counts.values())


@every
def test_what_is_assigned_goes_where_as_many_picks_would_have_sent_it(name: str) -> None:
    among = [
        fresh("a", 0.1),
        fresh("b", 0.5),
        replace(fresh("c", 0.9), sent=8),
        replace(fresh("d"), outstanding=5),
    ]
    at_once, one_by_one = [], []
    for seed in range(40):
        at_once.append(made(name, seed).assign(among, 40))
        one_by_one.append(Strategy.assign(made(name, 1000 + seed), among, 40))  # type: ignore[arg-type]
    for node in "abcd":
        means = [mean(counts.get(node, 0) for counts in each) for each in (at_once, one_by_one)]
        assert means[0] == pytest.approx(means[1], abs=1.0), node


@every
def test_a_node_that_goes_gets_nothing_and_one_that_comes_gets_its_part(name: str) -> None:
    balancer = made(name)
    assert balancer.assign(named("a b c"), 300).keys() == set("abc")
    assert balancer.assign(named("a b"), 300).keys() == set("ab")
    assert balancer.assign(named("a b d"), 300)["d"] == pytest.approx(100, abs=8)


WEIGHING = ("LeastLoaded", "LeastMemory", "ThresholdLoaded", "TwoChoices", "WeightedRoundRobin")
weighing = pytest.mark.parametrize("name", WEIGHING)


@given(candidates=candidates, weight=st.floats(0.25, 4), n=st.integers(0, 40), seed=st.integers(0, 9))
def test_equal_weights_change_nothing(candidates: list[Candidate], weight: float, n: int, seed: int) -> None:
    same = [replace(candidate, weight=weight) for candidate in candidates]
    none = [replace(candidate, weight=1.0) for candidate in candidates]
    for name in NAMES:
        assert made(name, seed).assign(same, n) == made(name, seed).assign(none, n), name
        assert made(name, seed).order(same) == made(name, seed).order(none), name


@given(weights=st.lists(st.floats(), min_size=2, max_size=6))
def test_no_weight_shuts_a_node_out(weights: list[float]) -> None:
    among = [replace(fresh(f"n{place}"), weight=weight) for place, weight in enumerate(weights)]
    least = 400 / (1 + 16 * (len(among) - 1))  # a quarter weight against four times the typical
    for name in WEIGHING:
        counts = made(name).assign(among, 400)
        assert counts.keys() == {candidate.node for candidate in among}, name
        assert min(counts.values()) >= least - 2, name


@weighing
def test_a_weight_four_times_as_high_draws_four_times_as_much_and_no_more(name: str) -> None:
    among = [replace(fresh("a"), weight=1000.0), *(fresh(f"n{n}") for n in range(6))]
    counts = made(name).assign(among, 4_000)
    most = {"TwoChoices": 2 / 7}.get(name, 0.4)  # two of seven are drawn
    assert counts["a"] / 4_000 == pytest.approx(most, abs=0.03)


def test_round_robin_looks_at_no_weight() -> None:
    counts = made("RoundRobin").assign([replace(fresh("a"), weight=4.0), fresh("b")], 100)
    assert counts == {"a": 50, "b": 50}


def test_a_message_of_the_mesh_is_one_that_a_strategy_can_read() -> None:
    def seen_by_a_strategy(message: mesh.Message) -> Message:
        return message  # mypy checks this type

    assert all(hasattr(mesh.Message, part) for part in vars(Message) if not part.startswith("_"))
    assert seen_by_a_strategy is not None
