"""Checks the records of a queue's producers and consumers."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from tools.running.queue_records import Event, Job

WRONG = ("lost", "doubled", "again", "unwanted")


@dataclass(frozen=True, slots=True)
class Anomaly:
    """An error of the kind `what` with a job.

    A lost job was put and answered with OK, but no consumer began to ack it. A doubled job was delivered
    again without a mark, and "again" means a delivery after the ack was confirmed. An unwanted job was
    refused, and delivered.
    """

    what: str
    job: Job
    at: float


def judged(answers: Mapping[Job, str], events: Iterable[Event], last: float = 0.0) -> list[Anomaly]:
    """Return all anomalies of a run that ended at `last` (s)."""
    by_job: defaultdict[Job, list[Event]] = defaultdict(list)
    for event in sorted(events, key=lambda e: e.at):
        by_job[event.job].append(event)
    lost = [
        Anomaly("lost", job, last)
        for job, state in answers.items()
        if state == "OK" and not any(e.what == "acking" for e in by_job.get(job, ()))
    ]
    wrong = [anomaly for job, of_it in by_job.items() for anomaly in _wrong(job, of_it, answers.get(job))]
    return lost + wrong


def _wrong(job: Job, events: Iterable[Event], state: str | None) -> Iterator[Anomaly]:
    taken = acked = False
    for event in events:
        if event.what == "took":
            if state not in (None, "OK"):
                yield Anomaly("unwanted", job, event.at)
            if acked:
                yield Anomaly("again", job, event.at)
            elif taken and not event.tries:
                yield Anomaly("doubled", job, event.at)
            taken = True
        acked = acked or event.what == "acked"
