"""What did a campaign come to? Who published, who was owed what, and the verdict in figures."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field

from tools.benchmarks.history import Answer, Arrival, Killed, Publisher, Subscriber
from tools.benchmarks.report import Report, Row
from tools.benchmarks.verdict import KINDS, Anomaly, judged, kind, nearest, recovery

P1, P2, P3 = Publisher("p1", "heron"), Publisher("p2", "heron"), Publisher("p3", "egret")
PUBLISHERS = (P1, P2, P3)
# Each, and what it asks for. No two of a pair live on the same node.
SUBSCRIBERS = {
    Subscriber("s1", "stork", PUBLISHERS): "kills/#",
    Subscriber("s2", "stork", (P1,)): P1.topic,
    Subscriber("s3", "stork", (P3,)): P3.topic,
    Subscriber("s4", "egret", (P1, P2)): "kills/heron/+",
    Subscriber("s5", "heron", (P3,)): P3.topic,
}


@dataclass(slots=True)
class Outcome:
    """What a campaign came to."""

    seed: int
    kills: list[Killed]
    answers: Mapping[str, Mapping[int, Answer]]  # by publisher
    arrivals: Mapping[str, Sequence[Arrival]]  # by subscriber
    anomalies: list[Anomaly] = field(default_factory=list)
    kept: str = ""  # where the logs are, when it is not clean

    @property
    def answered(self) -> int:
        return sum(a.state == "OK" for answers in self.answers.values() for a in answers.values())

    def judge(self) -> None:
        """Find all that is wrong."""
        self.anomalies = [
            anomaly
            for s in SUBSCRIBERS
            for p in s.publishers
            for anomaly in judged(p, s, self.answers[p.name], self.arrivals[s.name])
        ]

    def counts(self, of_kind: str, what: str) -> int:
        """Anomalies that are most likely due to kills of this kind."""
        wrong = [(a, nearest(a.at, self.kills)) for a in self.anomalies if a.what == what]
        return sum(kind(kill, a.publisher, a.subscriber) == of_kind for a, kill in wrong if kill is not None)

    def worst_recovery(self, of_kind: str) -> float | None:
        """Seconds; None if there was no kill of this kind by which it could be told."""
        times = [
            recovery(kill, self.kills, publisher, subscriber, self.arrivals[subscriber.name])
            for kill in self.kills
            for subscriber in SUBSCRIBERS
            for publisher in subscriber.publishers
            if kind(kill, publisher, subscriber) == of_kind
        ]
        return max((t for t in times if t is not None), default=None)


def told(outcome: Outcome) -> Report:
    """As rows: what is not clean has a flaw."""
    rows = []
    for what in ("lost", "doubled", "disordered"):
        by_kind = {of_kind: outcome.counts(of_kind, what) for of_kind in KINDS}
        total = sum(anomaly.what == what for anomaly in outcome.anomalies)
        note = ", ".join(f"{of_kind} {number}" for of_kind, number in by_kind.items())
        rows.append(Row(what, total, note, f"{total}: {note}. Logs: {outcome.kept}" if total else ""))
    worst = {of_kind: outcome.worst_recovery(of_kind) for of_kind in KINDS}
    times = {of_kind: time for of_kind, time in worst.items() if time is not None}
    note = ", ".join(f"{of_kind} {time:.1f}" for of_kind, time in times.items())
    rows.append(Row("recovery", max(times.values(), default=0.0), note))
    rows.append(Row("answered", outcome.answered, f"{len(outcome.kills)} kills, seed {outcome.seed}"))
    return Report("kills", rows, {"seed": outcome.seed, "kills": [asdict(kill) for kill in outcome.kills]})
