"""The class of findings, their ranks, and a common last sentence of their texts."""

from dataclasses import dataclass

from mesh.history.report.figures import listed

BAD, WARN, NOTE, GOOD = "bad", "warn", "note", "good"
RANKS = {BAD: "Problem", WARN: "Check", NOTE: "Note", GOOD: "All well"}


@dataclass(frozen=True, slots=True)
class Finding:
    """A finding, in one or two sentences.

    `about` is the name of the section with details.
    """

    rank: str
    text: str
    about: str


def so(names: list[str]) -> str:
    """Return a sentence that extends a finding to `names`, or an empty text without names."""
    return f" So {'does' if len(names) == 1 else 'do'} {listed(names)}." if names else ""
