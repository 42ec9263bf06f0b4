"""The operator LIKE: the same results as in SQL, in bounded time."""

import sqlite3
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mesh.features.queues.model.selecting.like import like
from tests.each import each

LETTERS = st.text("ab.*\n", max_size=8)
PATTERNS = st.text("ab%_.*\n", max_size=8)


@pytest.fixture(scope="module")
def sql() -> Iterator[sqlite3.Connection]:
    db = sqlite3.connect(":memory:")
    db.execute("pragma case_sensitive_like = on")
    yield db
    db.close()


@given(LETTERS, PATTERNS)
def test_it_is_the_like_of_sql(sql: sqlite3.Connection, text: str, pattern: str) -> None:
    [(expected,)] = sql.execute("select ? like ?", (text, pattern)).fetchall()
    assert like(pattern)(text) is bool(expected)


@pytest.mark.parametrize(
    ("text", "pattern", "expected"),
    [
        ("", "", True),
        ("", "%", True),
        ("", "_", False),
        ("abc", "a%", True),
        ("abc", "%c", True),
        ("abc", "A%", False),
        ("a", "a%a", False),
        ("aa", "a%a", True),
        ("a.c", "a.c", True),
        ("abc", "a.c", False),
        ("grün", "gr_n", True),
        ("a\nb", "a%b", True),
        ("a\nb", "a_b", True),
        ("a\n", "a", False),
    ],
)
def test_some_of_it(text: str, pattern: str, expected: bool) -> None:
    assert like(pattern)(text) is expected


@each("pattern", ["%a" * 120 + "b", "%_" * 120 + "b", "%a_" * 80 + "%b", "_%" * 120 + "b"])
def test_a_pattern_made_for_it_is_found_wanting_at_once(pattern: str) -> None:
    # A matcher that tries all ways would practically never end.
    assert not like(pattern)("a" * 65_536)
