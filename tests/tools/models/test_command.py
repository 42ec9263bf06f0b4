"""The command that searches a family of models."""

from click.testing import CliRunner, Result

from tests.each import each
from tests.tools.models import counter
from tests.tools.models.counter import Counter
from tools.models.command import Family, Scenario, command
from tools.models.planting import Mistake
from tools.models.search import Bounds

TOO_FAR = Mistake("no 12", ((counter, "limit", lambda: 20),))
HARMLESS = Mistake("one", ())
SCENARIOS = {
    "one": Scenario(Counter),
    "no 12": Scenario(lambda: Counter(bad=12)),
    "large": Scenario(Counter, is_large=True),
}


def run(*arguments: str, **scenarios: Scenario) -> Result:
    family = Family(SCENARIOS | scenarios, {"too far": TOO_FAR})
    return CliRunner().invoke(command(family, "Search."), arguments)


def test_the_shortest_trace_to_a_planted_mistake_is_printed() -> None:
    result = run("no 12", "too far")
    assert result.exit_code == 0
    head, *trace = result.output.splitlines()
    assert "C1: 12 is bad" in head
    assert trace == [f"   {number} +3" for number in range(1, 5)]


def test_a_scenario_that_does_not_find_the_mistake_fails() -> None:
    assert run("one", "too far").exit_code == 1


def test_all_planted_mistakes_are_a_table() -> None:
    result = run("--mistakes")
    assert result.exit_code == 0
    assert "too far" in result.output
    assert "C1: 12 is bad" in result.output


def test_a_planted_mistake_that_is_not_found_fails() -> None:
    family = Family(SCENARIOS, {"too far": TOO_FAR, "harmless": HARMLESS})
    result = CliRunner().invoke(command(family, "Search."), ["--mistakes"])
    assert result.exit_code == 1
    assert "not found" in result.output


def test_without_arguments_the_smaller_scenarios_are_searched() -> None:
    result, everything = run(), run("--all")
    assert result.exit_code == everything.exit_code == 0
    assert [line[:7].strip() for line in result.output.splitlines()] == ["one", "no 12"]
    assert [line[:7].strip() for line in everything.output.splitlines()] == ["one", "no 12", "large"]
    assert "(complete)" in result.output


def test_a_violation_without_a_planted_mistake_fails_with_its_trace() -> None:
    result = run("bad", bad=Scenario(lambda: Counter(bad=4)))
    assert result.exit_code == 1
    assert result.output.splitlines()[1:] == ["   1 +1", "   2 +3"]


def test_a_scenario_may_have_to_violate_an_invariant() -> None:
    expected = run("bad", bad=Scenario(lambda: Counter(bad=4), violates="C1"))
    assert expected.exit_code == 0
    assert expected.output.splitlines()[0].endswith("C1: 4 is bad (expected)")
    other = run("bad", bad=Scenario(lambda: Counter(bad=4), violates="C2"))
    assert other.exit_code == 1
    assert other.output.splitlines()[1:] == ["   1 +1", "   2 +3"]
    assert run("one", one=Scenario(Counter, violates="C1")).exit_code == 1


def test_a_search_that_reaches_its_bound_fails() -> None:
    result = run("bound", bound=Scenario(Counter, Bounds(states=5)))
    assert result.exit_code == 1
    assert "(bound reached)" in result.output


@each("arguments", [("one", "--all"), ("--all", "--mistakes"), ("nowhere",), ("one", "nothing")])
def test_arguments_that_do_not_fit_are_refused(arguments: tuple[str, ...]) -> None:
    assert run(*arguments).exit_code == 2
