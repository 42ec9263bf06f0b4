"""What is a finding, and how bad can it be?"""

from dataclasses import dataclass

from spark.report.figures import listed

BAD, WARN, NOTE, GOOD = "bad", "warn", "note", "good"
RANKS = {BAD: "Problem", WARN: "Look at", NOTE: "Note", GOOD: "All well"}


@dataclass(frozen=True, slots=True)
class Finding:
    """One sentence or two. `about` is the section that has more of it."""

    rank: str
    text: str
    about: str


def so(names: list[str]) -> str:
    """A sentence on those of whom the same is to be said."""
    return f" So {'does' if len(names) == 1 else 'do'} {listed(names)}." if names else ""
