"""SQL's LIKE: `%` stands for any text, `_` for any one character."""

from __future__ import annotations

import re
from collections.abc import Callable

ANY, ONE = "%", "_"


def like(pattern: str) -> Callable[[str], bool]:
    """Return a test of texts against the pattern.

    The test takes at most len(text) * len(pattern) steps. Backtracking is not needed, as the first place
    where a piece fits leaves the most text for the rest.
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
    """Compile the text between two `%` to a pattern of fixed length, which needs no backtracking."""
    return re.compile(".".join(map(re.escape, text.split(ONE))), re.DOTALL)
