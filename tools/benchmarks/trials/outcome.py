"""The outcome of a campaign, in figures."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field

from tools.benchmarks.pages.report import Report, Row
from tools.benchmarks.trials.history import Answer, Arrival, Killed
from tools.benchmarks.trials.scenarios import Scenario
from tools.benchmarks.trials.verdict import WRONG, Anomaly, judged, nearest, recovery


@dataclass(slots=True)
class Outcome:
    """The outcome of a campaign: its kills, the records of its programs, and the anomalies in them."""

    scenario: Scenario
    seed: int
    kills: list[Killed]
    answers: Mapping[str, Mapping[int, Answer]]  # by publisher
    arrivals: Mapping[str, Sequence[Arrival]]  # by subscriber
    anomalies: list[Anomaly] = field(default_factory=list)
    kept: str = ""  # folder of the logs after an error

    def __iter__(self) -> Iterator[Answer]:
        return (answer for answers in self.answers.values() for answer in answers.values())

    def answered(self, state: str) -> int:
        """Return the number of messages with this first answer."""
        return sum(answer.state == state for answer in self)

    @property
    def promised(self) -> int:
        return sum(answer.is_promised for answer in self)

    @property
    def rate(self) -> float:
        """The promised messages per second, from the first post to the last arrival; 0 without arrivals."""
        last = max((a.at for arrivals in self.arrivals.values() for a in arrivals[-1:]), default=0.0)
        first = min((answer.posted for answer in self), default=last)
        return self.promised / (last - first) if last > first else 0.0

    def judge(self) -> None:
        self.anomalies = [
            anomaly
            for s in self.scenario.subscribers
            for p in s.publishers
            for anomaly in judged(p, s, self.answers[p.name], self.arrivals[s.name])
        ]

    def counts(self, of_kind: str, what: str) -> int:
        """Return the number of anomalies `what` that are most likely due to kills of the kind `of_kind`."""
        wrong = [(a, nearest(a.at, self.kills)) for a in self.anomalies if a.what == what]
        kinds = [self.scenario.kind(kill, a.publisher, a.subscriber) for a, kill in wrong if kill is not None]
        return kinds.count(of_kind)

    def worst_recovery(self, of_kind: str) -> float | None:
        """Return the longest recovery in s, or None if no kill of this kind allows a measurement."""
        times = [
            recovery(kill, self.kills, p, self.arrivals[s.name], self.scenario.path(p, s))
            for kill in self.kills
            for s in self.scenario.subscribers
            for p in s.publishers
            if self.scenario.kind(kill, p, s) == of_kind
        ]
        return max((t for t in times if t is not None), default=None)


def told(outcome: Outcome) -> Report:
    """Return the report; a row with anomalies has a flaw."""
    rows = [*_wrongs(outcome), _recovery(outcome)]
    refused = Counter(answer.state for answer in outcome if not answer.is_promised)
    rows += [
        Row("answered", outcome.answered("OK"), f"{len(outcome.kills)} kills, seed {outcome.seed}"),
        Row("warned", outcome.answered("FORWARD_WARNING")),
        Row("refused", refused.total(), ", ".join(f"{code} {number:,}" for code, number in refused.items())),
        Row("while killed", outcome.rate, "from the first post to the last arrival"),
    ]
    kills = [asdict(kill) for kill in outcome.kills]
    return Report(outcome.scenario.part, rows, {"seed": outcome.seed, "kills": kills})


def _wrongs(outcome: Outcome) -> Iterator[Row]:
    for what in WRONG:
        by_kind = {kind: outcome.counts(kind, what) for kind in outcome.scenario.kinds}
        total = sum(anomaly.what == what for anomaly in outcome.anomalies)
        note = ", ".join(f"{kind} {number}" for kind, number in by_kind.items())
        yield Row(what, total, note, f"{total}: {note}. Logs: {outcome.kept}" if total else "")


def _recovery(outcome: Outcome) -> Row:
    worst = {kind: outcome.worst_recovery(kind) for kind in outcome.scenario.kinds}
    times = {kind: time for kind, time in worst.items() if time is not None}
    note = ", ".join(f"{kind} {time:.1f}" for kind, time in times.items())
    return Row("recovery", max(times.values(), default=0.0), note)
