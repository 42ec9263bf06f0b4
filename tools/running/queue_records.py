"""The records of producers and consumers of queues, line by line."""

from collections.abc import Iterable
from dataclasses import dataclass

Job = tuple[str, int]  # producer process, and its sequence number


@dataclass(frozen=True, slots=True)
class Event:
    """An event of a job at a consumer, and its time (s).

    `tries` is the number of earlier deliveries.
    """

    at: float
    what: str
    job: Job
    tries: int


def read_answers(lines: Iterable[str]) -> dict[Job, str]:
    """Return OK, or the code of the refusal, for each job.

    An incomplete last line is ignored.
    """
    found = {}
    for line in lines:
        if line.endswith("\n"):
            _, name, number, state = line.split()
            found[name, int(number)] = state
    return found


def read_events(lines: Iterable[str]) -> list[Event]:
    """Return the events of a consumer.

    An incomplete last line is ignored.
    """
    split = [line.split() for line in lines if line.endswith("\n")]
    return [Event(float(at), what, (name, int(n)), int(tries)) for at, what, name, n, tries in split]
