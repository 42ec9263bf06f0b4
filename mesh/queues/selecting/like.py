"""SQL's LIKE: `%` stands for any text, `_` for any one character."""

from __future__ import annotations

import re
from collections.abc import Callable

ANY, ONE = "%", "_"


def like(pattern: str) -> Callable[[str], bool]:
    """A test for texts. Its steps are at most the lengths of text and pattern multiplied: it never goes back,
    since the first place where a piece fits leaves most room for all that follow.
    """
    first, *others = pattern.split(ANY)
    beginning = _piece(first)
    if not others:
        return lambda text: beginning.fullmatch(text) is not None
    *middle, last = others
    pieces, end = [_piece(piece) for piece in middle if piece], _piece(last)

    def test(text: str) -> bool:
        found = beginning.match(text)
        before = len(text) - len(last)  # the place where the end begins
        for piece in pieces:
            if found is None:
                return False
            found = piece.search(text, found.end(), max(before, 0))
        return found is not None and found.end() <= before and end.fullmatch(text, before) is not None

    return test


def _piece(text: str) -> re.Pattern[str]:
    """What is between two `%`: as long as what it fits, so there is nothing to try again."""
    return re.compile(".".join(map(re.escape, text.split(ONE))), re.DOTALL)
