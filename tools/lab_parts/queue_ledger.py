"""What became of all that was put into a queue at several nodes, as clients have written it down?"""

# Law 1: what a put was promised is done by somebody.
# Law 2: of two who are given a message one is told that it may have been given before, and one of them at
#        most hears that his ack counts.
# Law 3: where nothing moves each consumer is given a producer's messages in their order, but for those that
#        are given again.

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from tools.running.queue_records import Event, Job

WRONG = ("lost", "doubled", "acked twice", "unwanted", "out of order")


@dataclass(frozen=True, slots=True)
class Anomaly:
    """Something that must not be, and when it was seen. `unwanted`: its put was refused."""

    what: str
    job: Job
    at: float = 0.0
    life: str = ""  # of the consumer that saw it


@dataclass(slots=True)
class Book:
    """All that is known of one queue. `keeps_order`: nothing of it moves."""

    keeps_order: bool = False
    answers: dict[Job, str] = field(default_factory=dict)  # OK, or the code of a refusal
    put_at: dict[str, str] = field(default_factory=dict)  # the nodes of producers, by life
    taken_at: dict[str, str] = field(default_factory=dict)  # those of consumers
    events: dict[str, Sequence[Event]] = field(default_factory=dict)  # by life, as each wrote them

    def took(self) -> Iterator[tuple[str, Event]]:
        """Who was given what."""
        for life, events in self.events.items():
            yield from ((life, event) for event in events if event.what == "took")

    def figures(self) -> dict[str, int]:
        """How much was put and refused, given, given again, and given at another node than it was put."""
        took = list(self.took())
        states = Counter(self.answers.values())
        return {
            "put": states["OK"],
            "refused": states.total() - states["OK"],
            "given": len(took),
            "again": sum(event.tries > 0 for _, event in took),
            "elsewhere": sum(self.taken_at[life] != self.put_at[event.job[0]] for life, event in took),
        }


def judged(book: Book) -> list[Anomaly]:
    """All that is wrong."""
    return [*_lost(book), *_given(book), *(_disordered(book) if book.keeps_order else ())]


def _lost(book: Book) -> Iterator[Anomaly]:
    done = {event.job for events in book.events.values() for event in events if event.what == "acking"}
    owed = [job for job, state in book.answers.items() if state == "OK"]
    yield from (Anomaly("lost", job) for job in owed if job not in done)


def _given(book: Book) -> Iterator[Anomaly]:
    as_new, acked = Counter[Job](), defaultdict[Job, set[str]](set)
    for life, events in book.events.items():
        for event in events:
            if event.what == "took":
                as_new[event.job] += not event.tries
                if book.answers.get(event.job, "OK") != "OK":
                    yield Anomaly("unwanted", event.job, event.at, life)
            elif event.what == "acked":
                acked[event.job].add(life)
    yield from (Anomaly("doubled", job) for job, times in as_new.items() if times > 1)
    yield from (Anomaly("acked twice", job) for job, lives in acked.items() if len(lives) > 1)


def _disordered(book: Book) -> Iterator[Anomaly]:
    for life, events in book.events.items():
        yield from (Anomaly("out of order", event.job, event.at, life) for event in _too_late(events))


def _too_late(events: Iterable[Event]) -> Iterator[Event]:
    """What was new, and came behind what its producer had put later."""
    highest = defaultdict[str, int](int)
    for event in events:
        if event.what == "took" and not event.tries:
            name, number = event.job
            if number < highest[name]:
                yield event
            highest[name] = max(highest[name], number)
