"""Is a pattern told from a key, and does a number read well?"""

import pytest

from mesh.cli.options import count, plainly, query


@pytest.mark.parametrize("text", ["#", "+", "a/#", "+/b", "a/+/c"])
def test_a_whole_level_plus_or_hash_makes_a_pattern(text: str) -> None:
    assert query(text) == {"pattern": text}


@pytest.mark.parametrize("text", ["a", "a/b", "c#", "a+b/c", "a/#1"])
def test_any_other_text_is_a_key(text: str) -> None:
    assert query(text) == {"key": text}


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.00041, "0.4 ms"),
        (0.0123, "12 ms"),
        (0.999, "999 ms"),
        (1.0, "1 s"),
        (3.44, "3.4 s"),
        (119, "119 s"),
        (120, "2 m"),
        (7200, "2 h"),
        (172800, "2 d"),
    ],
)
def test_a_duration_reads_well(seconds: float, text: str) -> None:
    assert plainly(seconds) == text


def test_counts_know_their_plural() -> None:
    assert [count(n, "line") for n in (0, 1, 1234)] == ["0 lines", "1 line", "1,234 lines"]
