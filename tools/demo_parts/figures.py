"""What is known of a round, at any moment and at its end?"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Row:
    """A node, and how many messages did something there in this round."""

    node: str
    count: int | None  # None: nobody counts there
    what: str  # was done to them
    is_up: bool
    state: str  # of the node, or of these messages, in words


@dataclass(frozen=True, slots=True)
class Kill:
    """The record of one kill."""

    warning: float  # s until the first FORWARD_WARNING
    note: str  # that came with it
    warnings: int
    gap: float  # s until what was published meanwhile, and more, had arrived everywhere


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a round."""

    name: str
    published: int
    arrived: tuple[int, ...]  # at each subscriber
    letters: int
    warnings: int  # messages that were answered FORWARD_WARNING first
    kills: int
    seconds: float
    is_equal: bool
    said: tuple[str, ...]  # by the comparison, a line for each who receives
