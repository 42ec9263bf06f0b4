"""What happened while nodes were killed? As the programs wrote it down, and as it is judged."""

from collections.abc import Iterable
from dataclasses import dataclass

# All times are seconds of the one monotonic clock that all processes of a machine share.


@dataclass(frozen=True, slots=True)
class Publisher:
    """Publishes numbered messages, from 1 on, in one topic."""

    name: str
    node: str

    @property
    def topic(self) -> str:
        return f"kills/{self.node}/{self.name}"


@dataclass(frozen=True, slots=True)
class Subscriber:
    """Is owed every message of these publishers."""

    name: str
    node: str
    publishers: tuple[Publisher, ...]


@dataclass(frozen=True, slots=True)
class Killed:
    """A node that died at `at`, and was started again at `started`."""

    node: str
    at: float
    started: float


@dataclass(frozen=True, slots=True)
class Answer:
    """What a publisher was told of a message: "OK", or why not."""

    number: int
    posted: float
    state: str


@dataclass(frozen=True, slots=True)
class Arrival:
    """A message that a subscriber was given, with what stood in it."""

    publisher: str
    number: int
    posted: float
    at: float


def read_answers(lines: Iterable[str]) -> dict[int, Answer]:
    """As a publisher wrote them: NUMBER POSTED STATE."""
    found = {}
    for line in lines:
        number, posted, state = line.split()
        found[int(number)] = Answer(int(number), float(posted), state)
    return found


def read_arrivals(lines: Iterable[str]) -> list[Arrival]:
    """As a subscriber wrote them: PUBLISHER NUMBER POSTED AT."""
    rows = (line.split() for line in lines)
    return [Arrival(name, int(number), float(posted), float(at)) for name, number, posted, at in rows]
