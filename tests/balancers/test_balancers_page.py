"""Agreement of docs/balancing.md with the strategies."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mesh.balancers import plugins
from mesh.balancers.base import Balancer, Candidate, Strategy
from mesh.balancers.capacity import capacities
from mesh.balancers.least_loaded import LeastLoaded
from tests.balancers.candidates import Sample, chance, named

PAGE = (Path(__file__).parents[2] / "docs" / "balancing.md").read_text()


def rows(head: str) -> list[list[str]]:
    """Return the cells of the rows below the row that begins with `head`."""
    [found] = re.findall(rf"^\| {head} \|.*\n\|[- |]+\|\n((?:\|.*\n)+)", PAGE, re.MULTILINE)
    return [[cell.strip() for cell in row.strip().strip("|").split(" | ")] for row in found.splitlines()]


def example() -> list[Candidate]:
    return [
        Candidate(node, load=float(load), age=1.0, sent=float(sent), outstanding=int(outstanding))
        for node, load, _, _, sent, outstanding, _ in rows("node")
    ]


def test_the_page_names_every_strategy_and_no_other() -> None:
    assert sorted(row[0] for row in rows("strategy")) == sorted(f"`{name}`" for name in plugins.OURS)


def test_the_page_names_every_method_of_a_balancer() -> None:
    told = {re.sub(r"\W.*", "", row[0].strip("`")) for row in rows("method")}
    assert told == {name for name in vars(Balancer) if not name.startswith("_")}


def test_the_figures_of_the_worked_example_are_right() -> None:
    believed = capacities(example(), 2.0)
    for candidate, room, told in zip(example(), believed, rows("node"), strict=True):
        assert candidate.load is not None
        assert f"{max(1 - candidate.load, 0.01):.2f}" == told[2]
        assert f"{room:.2f}" == told[3]
        assert f"{(candidate.sent + candidate.outstanding + 1) / room:.1f}" == told[6]


def test_the_worked_example_goes_on_as_the_page_says() -> None:
    pairs = set()
    for seed in range(50):
        balancer, among = LeastLoaded(chance(seed)), example()
        first = balancer.pick(among)
        among = [replace(node, sent=node.sent + 1) if node.node == first else node for node in among]
        pairs.add((first, balancer.pick(among)))
    assert {first for first, _ in pairs} == {"heron", "frodo"}
    assert [second for first, second in pairs if first == "frodo"] == ["heron"]


def test_in_the_long_run_the_shares_are_those_of_the_page() -> None:
    counts = LeastLoaded(chance()).assign(example(), 10_000)
    told = {node: int(part) for part, node in re.findall(r"(\d+) % (?:go )?to (\w+)", PAGE)}
    assert told.keys() == counts.keys()
    assert all(counts[node] / 100 == pytest.approx(part, abs=1) for node, part in told.items())


@pytest.fixture
def by_address() -> Strategy:
    """Return the plug-in of the page."""
    [source] = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    module: dict[str, Any] = {"__name__": "by_address"}
    exec(source, module)
    made = module["ByAddress"](chance())
    assert isinstance(made, Strategy)
    return made


def test_the_plug_in_of_the_page_keeps_each_key_at_its_node(by_address: Strategy) -> None:
    keys = [f"key{number}" for number in range(300)]
    before = {key: by_address.pick(named("a b c"), Sample(key=key)) for key in keys}
    after = {key: by_address.pick(named("c b"), Sample(key=key)) for key in keys}
    assert all(list(before.values()).count(node) > 60 for node in "abc")
    assert all(after[key] == node for key, node in before.items() if node != "a")


def test_the_plug_in_of_the_page_answers_all_that_a_balancer_is_asked(by_address: Strategy) -> None:
    [only] = by_address.assign(named("a b c"), 9, Sample()).items()
    assert only == (by_address.order(named("a b c"), Sample())[0], 9)
