"""What happened while nodes were killed? As the programs wrote it down, and as it is judged."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

# All times are seconds of the one monotonic clock that all processes of a machine share.

PROMISED = ("OK", "FORWARD_WARNING")  # answers after which a message must arrive


@dataclass(frozen=True, slots=True)
class Publisher:
    """Publishes numbered messages, from 1 on, in one topic."""

    name: str
    node: str
    domain: str = ""

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
    """The answer to a message: "OK", "FORWARD_WARNING", or why not; and the last word."""

    number: int
    posted: float
    state: str
    final: str

    @property
    def is_promised(self) -> bool:
        return self.state in PROMISED


@dataclass(frozen=True, slots=True)
class Arrival:
    """A message that a subscriber was given, with what stood in it."""

    publisher: str
    number: int
    posted: float
    at: float


def read_answers(lines: Iterable[str]) -> dict[int, Answer]:
    """As a publisher wrote them: NUMBER POSTED STATE. A second line for a number is its last word."""
    found: dict[int, Answer] = {}
    for line in lines:
        number, posted, state = line.split()
        first = found.get(int(number))
        found[int(number)] = (
            replace(first, final=state) if first else Answer(int(number), float(posted), state, state)
        )
    return found


def read_arrivals(lines: Iterable[str]) -> list[Arrival]:
    """As a subscriber wrote them: PUBLISHER NUMBER POSTED AT."""
    rows = (line.split() for line in lines)
    return [Arrival(name, int(number), float(posted), float(at)) for name, number, posted, at in rows]
