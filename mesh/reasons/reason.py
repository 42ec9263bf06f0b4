"""Creates a reason from its code and the names in its text."""

from __future__ import annotations

from collections.abc import Sequence

from mesh.printable import harmless
from mesh.reasons.texts import TEXTS
from mesh.wire.replies import Reason

LONGEST = 400  # characters of a text
NAME = 160  # characters of a name in it
NAMES = 8  # names listed, at most


def reason(code: str, about: Sequence[str] = (), /, **names: object) -> Reason:
    """Return the reason with the given code; `names` fill the placeholders in its text and hint.

    `about` lists the nodes concerned, which `verdict` uses to combine reasons. Only the first NAMES are kept.
    """
    rank, says, hint = TEXTS[code]
    words = {name: _word(value) for name, value in names.items()}
    return Reason(
        code=code,
        rank=rank,
        says=says.format_map(words)[:LONGEST],
        hint=hint.format_map(words)[:LONGEST],
        about=list(about[:NAMES]),
    )


def ago(seconds: float) -> str:
    """Format a duration, given in seconds, in a suitable unit, such as "3 min"."""
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{max(0.0, seconds):.1f} s"


def _word(value: object) -> str:
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, list | tuple):
        more = f" and {len(value) - NAMES:,} more" if len(value) > NAMES else ""
        return ", ".join(harmless(str(each))[:NAME] for each in value[:NAMES]) + more
    return harmless(str(value))[:NAME]
