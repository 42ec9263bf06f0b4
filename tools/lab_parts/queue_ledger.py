"""Checks the messages of a queue at several nodes, from the records of clients."""

# Law 1: a message that was accepted is settled by a consumer.
# Law 2: at most one of two deliveries of a message is not marked redelivered, and at most one ack counts.
# Law 3: without moves each consumer receives a producer's messages in order, except redelivered ones.

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from tools.running.queue_records import Event, Job

WRONG = ("lost", "doubled", "acked twice", "unwanted", "out of order")


@dataclass(frozen=True, slots=True)
class Anomaly:
    """An error of the kind `what` with a message.

    `at` is the time at which a consumer saw it, or 0 if it shows only in all records. An "unwanted" message
    was delivered although its put was refused.
    """

    what: str
    job: Job
    at: float = 0.0
    life: str = ""  # the consumer that saw it


@dataclass(slots=True)
class Book:
    """The records of one queue.

    `keeps_order` means that its messages never move.
    """

    keeps_order: bool = False
    answers: dict[Job, str] = field(default_factory=dict)  # OK, or the code of a refusal
    put_at: dict[str, str] = field(default_factory=dict)  # nodes of producers, by process
    taken_at: dict[str, str] = field(default_factory=dict)  # nodes of consumers
    events: dict[str, Sequence[Event]] = field(default_factory=dict)  # in order, by process

    def took(self) -> Iterator[tuple[str, Event]]:
        for life, events in self.events.items():
            yield from ((life, event) for event in events if event.what == "took")

    def figures(self) -> dict[str, int]:
        """Return the numbers of puts, refusals, deliveries, redeliveries, and deliveries at other nodes."""
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
    """Yield new messages that came after later ones of their producer."""
    highest = defaultdict[str, int](int)
    for event in events:
        if event.what == "took" and not event.tries:
            name, number = event.job
            if number < highest[name]:
                yield event
            highest[name] = max(highest[name], number)
