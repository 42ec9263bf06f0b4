"""The tests that a run selects, and the remains of a run that make it fail."""

from pathlib import Path

import pytest

from tests.test_house import copy_plugins, run_suite

TESTS = """
import pytest

def test_quick(): pass

@pytest.mark.slow
def test_slow(): pass

@pytest.mark.slow
@pytest.mark.smoke
def test_smoke(): pass
"""
ALL_SLOW = """
import pytest

pytestmark = pytest.mark.slow

def test_x(): pass
"""
LEAVES = """
import os, subprocess, tempfile

def test_that_leaves_a_process_and_a_file():
    tempfile.mkdtemp(prefix="lost-")
    if os.fork() == 0:
        os.execvp("sleep", ["sleep", "600"])

def test_that_writes_where_pytest_says(tmp_path):
    (tmp_path / "a").write_text("b")
"""
MARKERS = "".join(f"\n    {name}: x" for name in ("slow", "smoke", "spark", "browser"))


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    """Return a project with our plugins and one test of each kind."""
    tests = tmp_path / "tests"
    tests.mkdir()
    (tmp_path / "pytest.ini").write_text(f"[pytest]\ntestpaths = tests\nmarkers ={MARKERS}\n")
    copy_plugins(tests)
    (tests / "test_it.py").write_text(TESTS)
    (tests / "test_all_slow.py").write_text(ALL_SLOW)
    return tmp_path


@pytest.mark.slow  # five runs of pytest
def test_without_a_path_the_quick_set_runs_with_one_everything_there(suite: Path) -> None:
    for arguments, outcome in (
        ((), "2 passed, 1 deselected"),
        (("tests/test_it.py",), "3 passed"),
        (("tests",), "4 passed"),
        (("-m", "slow"), "3 passed, 1 deselected"),
        (("-k", "quick", "tests"), "1 passed, 3 deselected"),
    ):
        code, output = run_suite(suite, *arguments)
        assert (code, outcome in output) == (0, True), output


@pytest.mark.slow  # waits for processes to end
def test_a_run_fails_for_what_it_leaves_behind_and_names_it(suite: Path) -> None:
    (suite / "tests" / "test_leaves.py").write_text(LEAVES)
    code, output = run_suite(suite, "tests/test_leaves.py", "-W", "ignore")
    _, _, left = output.partition("left behind by the tests")
    assert (code, "2 passed" in output) == (1, True), output
    assert ": sleep 600" in left and "/lost-" in left and "pytest-of" not in left
