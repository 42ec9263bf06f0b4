"""Reasons made from texts: short, printable, with an age that reads well."""

import re

import pytest

from mesh.reasons.reason import LONGEST, NAMES, ago, reason
from mesh.reasons.texts import TEXTS


def test_a_text_is_short_and_harmless_whatever_names_there_are() -> None:
    for code, text in TEXTS.items():
        fields = set(re.findall(r"{(\w+)}", text.says + text.hint))
        one = reason(code, ["n"] * 100, **dict.fromkeys(fields, "\x1b[31m{0}{x!r}\n" * 50))
        assert len(one.says) <= LONGEST and len(one.hint) <= LONGEST and one.says.isprintable(), code
        assert (one.code, one.rank, len(one.about)) == (code, text.rank, NAMES)
        assert reason(code, **{field: [*"abcdefghijkl"] for field in fields}).about == []


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(-5.0, "0.0 s"), (1.24, "1.2 s"), (119.0, "119.0 s"), (120.0, "2 min"), (7200, "2 h"), (9e5, "10 d")],
)
def test_how_long_ago(seconds: float, text: str) -> None:
    assert ago(seconds) == text
