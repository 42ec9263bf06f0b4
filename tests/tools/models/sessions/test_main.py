"""The command that searches the models."""

from unittest.mock import patch

import pytest
from click.testing import CliRunner, Result
from rich.console import Console

from tests.each import each
from tools.models.sessions import __main__ as command
from tools.models.sessions.mistakes import MISTAKES
from tools.models.sessions.planting import Mistake
from tools.models.sessions.scenarios import SCENARIOS, Scenario
from tools.models.sessions.search import Bounds
from tools.models.sessions.visits.model import VisitModel
from tools.models.sessions.visits.state import Limits

TINY = Scenario(lambda: VisitModel(Limits(messages=(1,), visits=1, crashes=0, cuts=0)), Bounds())


def run(*arguments: str) -> Result:
    return CliRunner().invoke(command.main, arguments)


def test_the_shortest_trace_to_a_planted_mistake_is_printed() -> None:
    result = run("one master", "settles before the client has it")
    assert result.exit_code == 0
    head, *trace = result.output.splitlines()
    assert "S1: master 0 deleted 1" in head
    assert trace == ["   1 2 accepts 1", "   2 2 sends 1 to 0"]


def test_a_scenario_that_does_not_find_the_mistake_fails() -> None:
    with patch.dict(SCENARIOS, {"tiny": TINY}):
        assert command._find_mistake(Console(), "tiny", "claims are believed") is False


def test_all_planted_mistakes_are_a_table(monkeypatch: pytest.MonkeyPatch) -> None:
    few = {name: MISTAKES[name] for name in ("given up without a flag", "claims are believed")}
    monkeypatch.setattr(command, "MISTAKES", few)
    result = run("--mistakes")
    assert result.exit_code == 0
    assert all(name in result.output for name in few)
    assert "S9: the job is taken from the consumer that has it" in result.output


def test_a_planted_mistake_that_is_not_found_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    harmless = Mistake("tiny", ())
    monkeypatch.setitem(SCENARIOS, "tiny", TINY)
    monkeypatch.setitem(MISTAKES, "harmless", harmless)
    monkeypatch.setattr(command, "MISTAKES", {"harmless": harmless})
    result = run("--mistakes")
    assert result.exit_code == 1
    assert "not found" in result.output


def test_without_arguments_the_smaller_scenarios_are_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    large = Scenario(TINY.make, TINY.bounds, is_large=True)
    monkeypatch.setattr(command, "SCENARIOS", {"one": TINY, "other": TINY, "large": large})
    with patch.dict(SCENARIOS, {"one": TINY, "other": TINY, "large": large}):
        result, everything = run(), run("--all")
    assert result.exit_code == everything.exit_code == 0
    assert [line.split()[0] for line in result.output.splitlines()] == ["one", "other"]
    assert [line.split()[0] for line in everything.output.splitlines()] == ["one", "other", "large"]
    assert "(complete)" in result.output


def test_a_violation_without_a_planted_mistake_fails_with_its_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "tools.models.sessions.visits.settling.settled_position", lambda received, held: received
    )
    result = run("one master")
    assert result.exit_code == 1
    assert "   2 2 sends 1 to 0" in result.output


@each("arguments", [("one master", "--all"), ("--all", "--mistakes"), ("nowhere",), ("queue", "nothing")])
def test_arguments_that_do_not_fit_are_refused(arguments: tuple[str, ...]) -> None:
    assert run(*arguments).exit_code == 2
