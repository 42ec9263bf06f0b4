"""Was every promise kept? Every message that was promised came once, in its publisher's order."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tools.benchmarks.trials.history import Answer, Arrival, Killed, Publisher, Subscriber

WRONG = ("lost", "doubled", "disordered", "unwanted")
RECOVERING = 3.0  # s after a restart in which a stall is not the doing of a third node


@dataclass(frozen=True, slots=True)
class Anomaly:
    """One message that came to a subscriber as it must not. `what`: one of WRONG."""

    what: str
    publisher: Publisher
    subscriber: Subscriber
    number: int
    at: float


def judged(
    publisher: Publisher, subscriber: Subscriber, answers: Mapping[int, Answer], arrivals: Sequence[Arrival]
) -> Iterator[Anomaly]:
    """All that is wrong between two of them; what was never answered may come, or be missing."""
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
    """The kill that an anomaly at this time is most likely due to."""
    return min(kills, key=lambda kill: max(kill.at - at, at - kill.started, 0.0), default=None)


def seen_from(kill: Killed, publisher: Publisher, subscriber: Subscriber) -> str:
    """Whose node was it, seen from these two?"""
    if kill.node == publisher.node:
        return "publisher's"
    return "subscriber's" if kill.node == subscriber.node else "third"


def recovery(
    kill: Killed, kills: Sequence[Killed], publisher: Publisher, came: Sequence[Arrival], path: Sequence[str]
) -> float | None:
    """Seconds from the new start of the node until a message that was posted after it has arrived.

    `path`: the nodes that messages pass. For one that is not among them: from its death. None when another
    one of them died in between, or nothing was posted.
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
