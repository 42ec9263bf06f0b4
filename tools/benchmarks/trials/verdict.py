"""Checks a campaign: promised messages arrived once and in order, and refused messages did not arrive."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tools.benchmarks.trials.history import Answer, Arrival, Killed, Publisher, Subscriber

WRONG = ("lost", "doubled", "disordered", "unwanted")
RECOVERING = 3.0  # s of stalls after a restart


@dataclass(frozen=True, slots=True)
class Anomaly:
    """A message that arrived wrongly, or did not arrive; `what` is one of WRONG."""

    what: str
    publisher: Publisher
    subscriber: Subscriber
    number: int
    at: float


def judged(
    publisher: Publisher, subscriber: Subscriber, answers: Mapping[int, Answer], arrivals: Sequence[Arrival]
) -> Iterator[Anomaly]:
    """Yield the anomalies between two clients.

    A message without an answer may arrive or be missing.
    """
    seen: set[int] = set()
    highest = 0
    for arrival in arrivals:
        if arrival.publisher != publisher.name:
            continue
        answer = answers.get(arrival.number)
        if arrival.number in seen:
            yield Anomaly("doubled", publisher, subscriber, arrival.number, arrival.at)
        elif answer and not answer.is_promised:
            yield Anomaly("unwanted", publisher, subscriber, arrival.number, arrival.at)
        elif arrival.number < highest:
            yield Anomaly("disordered", publisher, subscriber, arrival.number, arrival.at)
        seen.add(arrival.number)
        highest = max(highest, arrival.number)
    for number, answer in answers.items():
        if answer.is_promised and number not in seen:
            yield Anomaly("lost", publisher, subscriber, number, answer.posted)


def nearest(at: float, kills: Sequence[Killed]) -> Killed | None:
    """Return the kill to which an anomaly at the time `at` is most likely due; None without kills."""
    return min(kills, key=lambda kill: max(kill.at - at, at - kill.started, 0.0), default=None)


def seen_from(kill: Killed, publisher: Publisher, subscriber: Subscriber) -> str:
    """Return whose node was killed, as seen by the two clients."""
    if kill.node == publisher.node:
        return "publisher's"
    return "subscriber's" if kill.node == subscriber.node else "third"


def recovery(
    kill: Killed, kills: Sequence[Killed], publisher: Publisher, came: Sequence[Arrival], path: Sequence[str]
) -> float | None:
    """Return the seconds from a node's restart until a message that was posted later arrived.

    `path` has the nodes that messages pass. If the killed node is not one of them, the time counts from its
    death. None means that no such message arrived, or that the death of another node of the path may have
    delayed it.
    """
    is_third = kill.node not in path
    start = kill.at if is_third else kill.started
    first = next((a for a in came if a.publisher == publisher.name and a.posted >= start), None)
    if first is None:
        return None
    since = start - (RECOVERING if is_third else 0.0)
    for other in kills:
        if other is not kill and other.node in path and other.at < first.at and other.started > since:
            return None
    return first.at - start
