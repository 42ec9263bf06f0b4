"""The records that programs write while nodes are killed."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

# All times are seconds of the monotonic clock that all processes of a machine share.

PROMISED = ("OK", "FORWARD_WARNING")  # answers after which a message must arrive


@dataclass(frozen=True, slots=True)
class Publisher:
    """A publisher of messages numbered from 1 in one topic."""

    name: str
    node: str
    domain: str = ""

    @property
    def topic(self) -> str:
        return f"kills/{self.node}/{self.name}"


@dataclass(frozen=True, slots=True)
class Subscriber:
    """A subscriber that must receive every message of its publishers."""

    name: str
    node: str
    publishers: tuple[Publisher, ...]


@dataclass(frozen=True, slots=True)
class Killed:
    """A node or client that died at `at`, and was started again at `started`."""

    node: str
    at: float
    started: float


@dataclass(frozen=True, slots=True)
class Answer:
    """The first answer to a message, "OK", "FORWARD_WARNING" or an error code, and the final one."""

    number: int
    posted: float
    state: str
    final: str

    @property
    def is_promised(self) -> bool:
        return self.state in PROMISED


@dataclass(frozen=True, slots=True)
class Arrival:
    """A message that a subscriber received at `at`; the other fields are from its content."""

    publisher: str
    number: int
    posted: float
    at: float


def read_answers(lines: Iterable[str]) -> dict[int, Answer]:
    """Parse a publisher's lines: NUMBER POSTED STATE.

    A second line for a number has its final answer.
    """
    found: dict[int, Answer] = {}
    for line in lines:
        number, posted, state = line.split()
        first = found.get(int(number))
        found[int(number)] = (
            replace(first, final=state) if first else Answer(int(number), float(posted), state, state)
        )
    return found


def read_arrivals(lines: Iterable[str]) -> list[Arrival]:
    """Parse a subscriber's lines: PUBLISHER NUMBER POSTED AT."""
    rows = (line.split() for line in lines)
    return [Arrival(name, int(number), float(posted), float(at)) for name, number, posted, at in rows]
