"""What have producers and consumers of queues written down, line by line?"""

from collections.abc import Iterable
from dataclasses import dataclass

Job = tuple[str, int]  # the life of a producer that has put it, and its number there


@dataclass(frozen=True, slots=True)
class Event:
    """What befell a job at a consumer, and when (s). `tries`: so often it was given before, as it said."""

    at: float
    what: str
    job: Job
    tries: int


def read_answers(lines: Iterable[str]) -> dict[Job, str]:
    """OK, or the code of the refusal. A last line that was not written to its end is none."""
    found = {}
    for line in lines:
        if line.endswith("\n"):
            _, name, number, state = line.split()
            found[name, int(number)] = state
    return found


def read_events(lines: Iterable[str]) -> list[Event]:
    """Likewise what consumers have written."""
    split = [line.split() for line in lines if line.endswith("\n")]
    return [Event(float(at), what, (name, int(n)), int(tries)) for at, what, name, n, tries in split]
