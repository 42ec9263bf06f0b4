"""The figures of a round, during the round and at its end."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Row:
    """A node, with the number of messages of one kind there in this round."""

    node: str
    count: int | None  # None: not counted there
    what: str  # kind of the messages
    is_up: bool
    state: str  # of the node or these messages, in words


@dataclass(frozen=True, slots=True)
class Kill:
    """The record of one kill."""

    warning: float  # s until the first FORWARD_WARNING
    note: str  # the text of that answer
    warnings: int
    gap: float  # s until everything published meanwhile had arrived


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a round."""

    name: str
    published: int
    arrived: tuple[int, ...]  # at each subscriber
    letters: int
    warnings: int  # messages whose first answer was FORWARD_WARNING
    kills: int
    seconds: float
    is_equal: bool
    said: tuple[str, ...]  # by the comparison, a line per receiver
