"""Forked workers: each test runs once, each result is reported, and a worker that dies fails one test."""

from pathlib import Path

import pytest

from tests.test_house import copy_plugins, run_suite

DIES = """
import os

def test_before(): pass
def test_that_dies(): os._exit(7)
def test_behind(): pass
def test_that_fails():
    print("its last words")
    assert False, "as it should"
"""
KEPT = """
def test_what_all_share_is_made_once(made): assert made == 1
"""
CONFTEST = """
import pytest

MADE = []

@pytest.fixture(scope="session")
def made():
    MADE.append(1)
    yield len(MADE)
    assert {fine}, "it was not put away"
"""


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    tests = tmp_path / "tests"
    tests.mkdir()
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    copy_plugins(tests)
    return tmp_path


def with_fixture(suite: Path, fine: bool) -> None:
    for name in ("one", "two"):
        (suite / "tests" / f"test_{name}.py").write_text(KEPT)
    (suite / "conftest.py").write_text(CONFTEST.format(fine=fine))


@pytest.mark.slow  # for its length
def test_a_worker_that_dies_fails_the_test_it_ran_and_the_others_are_run(suite: Path) -> None:
    (suite / "tests" / "test_dies.py").write_text(DIES)
    code, output = run_suite(suite, "--workers=2")
    assert code == 1
    assert "2 failed, 2 passed" in output
    assert "its worker ended with 7 while it ran" in output
    assert "as it should" in output and "its last words" in output


@pytest.mark.slow  # for its length
def test_what_was_made_for_the_session_is_there_for_the_next_file(suite: Path) -> None:
    with_fixture(suite, fine=True)
    code, output = run_suite(suite, "--workers=1")
    assert (code, "2 passed" in output) == (0, True), output


@pytest.mark.slow  # for its length
def test_what_goes_wrong_behind_the_last_test_fails_the_session(suite: Path) -> None:
    with_fixture(suite, fine=False)
    code, output = run_suite(suite, "--workers=1")
    assert (code, "it was not put away" in output) == (pytest.ExitCode.INTERNAL_ERROR, True), output


@pytest.mark.slow  # for its length
def test_with_x_the_first_failure_ends_it(suite: Path) -> None:
    (suite / "tests" / "test_first.py").write_text("def test_it(): assert False\n\ndef test_next(): pass\n")
    code, output = run_suite(suite, "--workers=1", "-x")
    assert code == 1
    assert "1 failed" in output and "passed" not in output
