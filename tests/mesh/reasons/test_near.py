"""The search for similar names among many, with bounded work."""

from itertools import count

import pytest

from mesh.reasons.near import as_pattern, is_near, near, near_patterns
from tests.mesh.steps import steps


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("calc/ad", "calc/add"), ("news/sprots", "news/sports"), ("news", "News"),
        ("sensor/temp", "sensors/temp"),
        ("robot_1", "robot-1"), ("a/b/c", "a/b/c/d"), ("news/uk", "news"), ("RUGBY_NEW", "RUGBY_NEWS"),
        ("sensorsTemp", "sensors/temp"), ("jobs", "jbos"),
    ],
)  # fmt: skip
def test_a_slip_is_near_both_ways(text: str, name: str) -> None:
    assert is_near(text, name) and is_near(name, text)


@pytest.mark.parametrize(
    ("text", "name"),
    [("", "a"), ("a", ""), ("ab", "cd"), ("news/sports", "news/weather"), ("--", "//"), ("", "/a"),
     ("newspaper", "news")],
)  # fmt: skip
def test_what_is_something_else_is_not_near(text: str, name: str) -> None:
    assert not is_near(text, name)


def test_of_many_names_a_few_are_named_each_once_and_never_itself() -> None:
    names = ["job", "jobs", "jobs", "jbos", "jobss", "other", "jobz"]
    assert near("jobs", names, most=3) == ["jbos", "job", "jobss"]
    assert near("jobs", ["jobs"]) == [] and near("x" * 10, names) == []


@pytest.mark.parametrize(
    ("pattern", "key", "wanted"),
    [
        ("a/+/c", "a/b/c", "a/+/c"), ("a/#", "a/b/c", "a/#"), ("#", "a", "#"), ("a/+", "b/x", "b/+"),
        ("a/+/c", "a", "a"), ("a", "b", "b"),
    ],
)  # fmt: skip
def test_a_key_gets_the_wildcards_of_a_pattern(pattern: str, key: str, wanted: str) -> None:
    assert as_pattern(pattern, key) == wanted


def test_a_pattern_that_nearly_matches_is_found() -> None:
    patterns = ["sensors/+/temp", "sensors/kitchen/humidity", "news/#", "sensor/kitchen/temp"]
    assert near_patterns("sensor/kitchen/temp", patterns) == ["sensors/+/temp"]
    assert near_patterns("new/sports", patterns) == ["news/#"]
    assert near_patterns("news/sports", patterns) == [], "it matches"


def test_work_is_bounded_however_many_and_evil_the_names_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """Work grows with both bounds, so a twentieth of each suffices to measure it."""
    monkeypatch.setattr("mesh.reasons.near.LOOKED_AT", 500)
    monkeypatch.setattr("mesh.reasons.near.COMPARED", 50)
    alike = (f"{'a' * 240}{n:010}{'a' * 250}" for n in count())
    assert steps(lambda: near("a" * 500, alike)) < 125_000
    wild = ("/".join(["+"] * 250) + f"/{n}" for n in count())
    assert steps(lambda: near_patterns("/".join("a" * 250), wild)) < 125_000
    assert steps(lambda: near_patterns("/".join("a" * 30), (f"{'+/' * 30}{n}" for n in count()))) < 125_000
