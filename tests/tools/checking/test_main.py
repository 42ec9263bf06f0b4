"""The command line of `tools/check`, its output, and its exit code."""

import io
import sys

import click
import pytest
from rich.console import Console

from tests.pages import ROOT, commands
from tests.tools.checking.test_commands import LEAVES
from tools.checking.__main__ import Check, chosen, main, split
from tools.checking.bar import Display
from tools.checking.commands import Commands
from tools.checking.steps import Scope, Step, steps

PYTHON = sys.executable


def run(*plan: Step) -> tuple[bool, str]:
    out = io.StringIO()
    with Commands() as commands:
        return Check(Display(Console(file=out, width=200)), commands).run(list(plan)), out.getvalue()


def step(name: str, *codes: str, is_background: bool = False) -> Step:
    return Step(name, f"about {name}", tuple((PYTHON, "-c", code) for code in codes), is_background)


def test_a_run_shows_each_step_and_ends_with_its_times() -> None:
    passed, text = run(step("types", "pass", is_background=True), step("lint", "print('hidden')", "pass"))
    assert passed
    assert [line.split()[0] for line in text.splitlines()] == ["lint", "types", "passed"]
    assert "hidden" not in text and "about lint" in text


def test_a_failed_step_shows_its_output_and_the_others_run_all_the_same() -> None:
    passed, text = run(step("lint", "print('why'); exit(1)", "print('never')"), step("docs", "pass"))
    assert not passed
    assert "why" in text and "never" not in text and "about docs" in text
    assert "failed: lint (" in text


def test_the_tests_report_their_progress() -> None:
    code = "import os; os.write(int(os.environ['HERONRY_PROGRESS']), b'0 20\\n9 20\\n20 20\\n')"
    passed, text = run(step("tests", code))
    assert passed and text.split()[:4] == ["40", "%", "100", "%"]


def test_a_process_that_a_step_leaves_behind_is_a_failure() -> None:
    passed, text = run(step("docs", LEAVES))
    assert not passed and "kill -STOP" in text and "failed: processes left behind" in text


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ((), ((), ())),
        (("lint", "types"), (("lint", "types"), ())),
        (("tests", "tests/a.py", "-k", "b"), (("tests",), ("tests/a.py", "-k", "b"))),
        (("--durations=20",), ((), ("--durations=20",))),
    ],
)
def test_words_are_steps_up_to_tests_and_the_rest_is_for_pytest(
    words: tuple[str, ...], expected: object
) -> None:
    assert split(words) == expected


def test_named_steps_run_alone_and_an_unknown_one_is_refused_with_the_list() -> None:
    plan = steps(Scope(), 1 << 32)
    assert [step.name for step in chosen(plan, ("docs", "lint"))] == ["lint", "docs"]
    assert chosen(plan, ()) == plan
    with pytest.raises(click.UsageError, match=r"Unknown step 'lnt'\. Steps: types, lint"):
        chosen(plan, ("lnt",))


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md"])
def test_the_commands_that_a_page_shows_exist(page: str) -> None:
    shown = [
        command.split("#")[0].split()[1:] for command in commands(ROOT / page) if "tools/check" in command
    ]
    assert shown
    for words in shown:
        context = main.make_context("tools/check", list(words))
        names, _ = split(context.params["words"])
        assert chosen(steps(Scope(), 1 << 32), names)
