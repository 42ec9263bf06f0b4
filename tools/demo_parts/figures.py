"""What is known of a round, at any moment and at its end?"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Row:
    """One node, and the lines that it has seen in this round."""

    node: str
    what: str  # is done there: "published" or "arrived"
    lines: int
    kills: int
    is_up: bool
    state: str  # in words


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a round came to."""

    name: str
    published: int
    arrived: tuple[int, ...]  # at each subscriber
    kills: int
    seconds: float
    is_equal: bool
    said: tuple[str, ...]  # by the comparison, a line for each subscriber
