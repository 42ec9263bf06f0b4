"""Strategies, ours and those of plug-ins, are found by name, and errors name the remedy."""

import re
import sys
from configparser import ConfigParser
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from mesh.balancers import plugins
from mesh.balancers.base import Candidates, Message, Strategy
from mesh.balancers.guarded import Guarded
from mesh.balancers.plugins import BadBalancer
from mesh.balancers.round_robin import RoundRobin
from tests.balancers.candidates import chance, named

ROOT = Path(__file__).parents[2]


class First(Strategy):
    """A strategy that picks the first node by name."""

    def pick(self, candidates: Candidates, message: Message | None = None) -> str:
        return min(candidate.node for candidate in candidates)


class Unfinished(Strategy):
    """A strategy without `pick`."""


class Halfway:
    """A class that is not a `Strategy` and lacks nearly all of its methods."""

    def __init__(self, jitter: object) -> None:
        pass

    def pick(self, candidates: object, message: object = None) -> str:
        return ""


HERE = __name__


@pytest.fixture
def bring(monkeypatch: pytest.MonkeyPatch) -> list[EntryPoint]:
    """Return a list of entry points; its entries count as installed."""
    entries: list[EntryPoint] = []

    def entry_points(group: str) -> list[EntryPoint]:
        return [entry for entry in entries if entry.group == group]

    monkeypatch.setattr("importlib.metadata.entry_points", entry_points)
    return entries


def entry(name: str, value: str) -> EntryPoint:
    return EntryPoint(name, value, "mesh.balancers")


@pytest.mark.parametrize("name", plugins.OURS)
def test_each_of_ours_is_found_under_the_name_of_its_class(name: str) -> None:
    assert type(plugins.named(name, chance())).__name__ == name


def test_one_that_is_made_twice_shares_nothing() -> None:
    one, other = plugins.named("RoundRobin", chance()), plugins.named("RoundRobin", chance())
    assert [one.pick(named("a b")) for _ in range(3)] == [other.pick(named("a b")) for _ in range(3)]


def test_a_foreign_one_is_found_by_its_entry_point_and_guarded(bring: list[EntryPoint]) -> None:
    bring.append(entry("First", f"{HERE}:First"))
    balancer = plugins.named("First", chance())
    assert isinstance(balancer, Guarded)
    assert balancer.pick(named("b c a")) == "a"
    assert (balancer.assign(named("b a"), 5), balancer.order(named("b a"))) == ({"a": 5}, ["a", "b"])
    assert balancer.faults == 0


def test_a_foreign_one_written_for_the_earlier_top_level_name_is_refused_with_the_new_one(
    bring: list[EntryPoint], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "older_strategy.py").write_text("from balancers.base import Strategy\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "path", [path for path in sys.path if path and Path(path) != ROOT])
    bring.append(entry("Older", "older_strategy:Older"))
    with pytest.raises(BadBalancer, match=r"import mesh\.balancers\.base instead of balancers\.base"):
        plugins.named("Older", chance())


def test_a_foreign_one_cannot_take_the_name_of_ours(bring: list[EntryPoint]) -> None:
    bring.append(entry("RoundRobin", f"{HERE}:First"))
    assert type(plugins.named("RoundRobin", chance())) is RoundRobin


def test_an_unknown_one_is_refused_with_what_is_installed_and_was_meant(bring: list[EntryPoint]) -> None:
    bring.append(entry("First", f"{HERE}:First"))
    with pytest.raises(BadBalancer) as caught:
        plugins.named("leastloaded", chance())
    assert str(caught.value) == (
        "The balancer 'leastloaded' is not installed. Did you mean LeastLoaded? "
        "Installed: First, LeastLoaded, LeastMemory, LocalFirst, RackAffinity, RoundRobin, Sticky, "
        "ThresholdLoaded, TwoChoices, WeightedRoundRobin. [BAD_BALANCER]"
    )
    assert caught.value.code == "BAD_BALANCER"


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (f"{HERE}:Missing", "AttributeError"),
        ("no_such_module:Any", "ModuleNotFoundError"),
        (f"{HERE}:Unfinished", "abstract"),
        (f"{HERE}:Halfway", "has no assign, order, started, registrations"),
        (f"{HERE}:HERE", "not callable"),
    ],
)
def test_one_that_cannot_be_made_is_named_with_its_reason(
    bring: list[EntryPoint], value: str, why: str
) -> None:
    bring.append(entry("Broken", value))
    with pytest.raises(BadBalancer) as caught:
        plugins.named("Broken", chance())
    assert str(caught.value).startswith(f"The balancer Broken ({value} of an unknown distribution)")
    assert why in str(caught.value)


def test_two_that_claim_one_name_are_refused(bring: list[EntryPoint]) -> None:
    bring += [entry("First", f"{HERE}:First"), entry("First", f"{HERE}:Unfinished")]
    with pytest.raises(BadBalancer, match="Uninstall all but one"):
        plugins.named("First", chance())


def test_one_that_is_installed_twice_is_found_once(bring: list[EntryPoint]) -> None:
    bring += [entry("First", f"{HERE}:First")] * 2
    assert plugins.named("First", chance()).pick(named("b a")) == "a"
    assert plugins.installed().count("First") == 1


def test_ours_stand_in_the_entry_points_too_for_those_who_list_them() -> None:
    setup = ConfigParser()
    setup.read(Path(__file__).parents[2] / "setup.cfg")
    lines = setup["options.entry_points"]["mesh.balancers"].split("\n")
    told = dict(line.split(" = ") for line in lines if line)
    assert told == {name: f"{made.__module__}:{name}" for name, made in plugins.OURS.items()}


@pytest.mark.parametrize("name", plugins.OURS)
def test_ours_may_be_written_in_small_letters(name: str) -> None:
    small = re.sub(r"(?<!^)([A-Z])", r"-\1", name).lower()
    assert type(plugins.named(small, chance())) is plugins.OURS[name]


@pytest.mark.parametrize("name", ["least-laoded", "Least-Loaded", "stickey"])
def test_what_is_nearly_one_of_ours_is_refused_with_it(name: str) -> None:
    with pytest.raises(BadBalancer, match=r"Did you mean (LeastLoaded|Sticky)"):
        plugins.named(name, chance())


def test_one_of_others_that_is_written_in_small_letters_is_theirs(bring: list[EntryPoint]) -> None:
    bring.append(entry("sticky", f"{HERE}:First"))
    assert type(plugins.named("sticky", chance())) is Guarded


@pytest.mark.parametrize(("name", "option"), [(n, o) for n, taken in plugins.OPTIONS.items() for o in taken])
def test_an_option_is_taken_by_whom_it_is_for_and_refused_by_others(name: str, option: str) -> None:
    plugins.named(name, chance(), {option: 0.5 if option == "threshold" else "x"})
    with pytest.raises(
        BadBalancer, match=f"RoundRobin has no option {option}. The option {option} belongs to {name}."
    ):
        plugins.named("RoundRobin", chance(), {option: "x"})


def test_one_of_others_gets_its_options_or_says_that_it_has_none(bring: list[EntryPoint]) -> None:
    bring.append(entry("First", f"{HERE}:First"))
    with pytest.raises(BadBalancer, match=r"cannot be created: TypeError.*header"):
        plugins.named("First", chance(), {"header": "x"})
