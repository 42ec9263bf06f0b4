"""The table of steps: what runs for which scope."""

import pytest

from tools.checking.steps import Scope, pytest_words, steps, workers

MEMORY = 4 << 30


def names(scope: Scope) -> list[str]:
    return [step.name for step in steps(scope, MEMORY)]


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        (("docs/client.md",), ["docs"]),
        (("mesh/queue.py",), ["types", "lint", "format", "contracts", "fuzz", "tests"]),
        (("tools/checking/steps.py",), ["types", "lint", "format", "contracts", "tests"]),
        ((".gitignore",), []),
    ],
)
def test_a_change_runs_only_the_steps_that_it_touches(files: tuple[str, ...], expected: list[str]) -> None:
    tests = ("tests/test_each.py",) if "tests" in expected else ()
    assert names(Scope(files=files, tests=tests)) == expected


def test_lint_reads_only_the_sources_of_a_change() -> None:
    lint = next(step for step in steps(Scope(files=("a.py", "b.md")), MEMORY) if step.name == "lint")
    assert lint.commands[0][-2:] == ("check", "a.py")


@pytest.mark.parametrize(
    ("scope", "checked"),
    [
        (Scope(), False),
        (Scope(is_all=True), True),
        (Scope(files=("mesh/queue.py",)), False),
        (Scope(files=("tools/benchmarks/__main__.py",)), True),
    ],
)
def test_types_of_benchmarks_are_checked_with_all_and_when_they_change(scope: Scope, checked: bool) -> None:
    types = next(step for step in steps(scope, MEMORY) if step.name == "types")
    assert ("--exclude" not in types.commands[0]) is checked


def test_all_and_a_path_say_which_tests_run() -> None:
    assert pytest_words(False, (), MEMORY)[-2:] == ("--workers", str(workers(MEMORY)))
    assert pytest_words(True, (), MEMORY)[-1] == "tests"
    assert pytest_words(True, ("--durations=9",), MEMORY)[-2:] == ("--durations=9", "tests")
    assert pytest_words(True, ("setup.cfg::x",), MEMORY)[-1] == "setup.cfg::x"


def test_little_memory_means_few_workers_but_one() -> None:
    assert (workers(0), workers(1500 << 20)) == (1, min(2, workers(1 << 40)))
