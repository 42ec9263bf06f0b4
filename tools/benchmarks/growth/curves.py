"""The growth experiments: their sizes, their figures, and the limit for the growth of each figure."""

from dataclasses import dataclass

LINEAR = 1.15  # exponent of total costs
FLAT = 0.3  # of one among many: more memory is slower
SLOW = 0.85  # of the time until all know: gossip spreads


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure of an experiment.

    `key` is its key in the measured values, `unit` is s or B, and `limit` is the limit for its exponent of
    growth.
    """

    key: str
    what: str
    limit: float
    unit: str = "s"


@dataclass(frozen=True, slots=True)
class Experiment:
    """An experiment with a quantity that grows.

    `least` is the smallest size, `usual` the default for the largest size, and `most` the largest size that
    makes sense.
    """

    name: str
    least: int
    usual: int
    most: int
    figures: tuple[Figure, ...]

    def row(self, figure: Figure) -> str:
        return f"growth, {self.name}, {figure.key}"

    def what(self, figure: Figure) -> str:
        return f"{self.name}: {figure.what}"


def _bytes(what: str, limit: float = FLAT) -> Figure:
    return Figure("bytes", what, limit, "B")


QUIET = Figure("quiet", "CPU of a second in which nothing happens", LINEAR)
PAUSE = Figure("pause", "a full garbage collection", LINEAR)
SUBSCRIPTIONS = (
    Figure("make", "all are made", LINEAR),
    _bytes("each, resident"),
    Figure("route", "a message for one of them", FLAT),
    QUIET,
    PAUSE,
    Figure("leave", "all are given up", LINEAR),
)
SEEN = (Figure("join", "until all see a newcomer", SLOW), Figure("die", "until all see a death", SLOW))

EXPERIMENTS = (
    Experiment("exact subscriptions", 10, 100_000, 100_000, SUBSCRIPTIONS),
    Experiment("pattern subscriptions", 10, 100_000, 100_000, SUBSCRIPTIONS),
    Experiment("subscriptions abroad", 10, 3_200, 10_000, (
        Figure("here", "all are made, CPU here", LINEAR), Figure("there", "all are made, CPU there", LINEAR),
        Figure("newcomer", "a third node comes, CPU here", LINEAR),
    )),
    Experiment("clients", 10, 10_000, 10_000, (
        Figure("connect", "all connect", LINEAR), _bytes("each, resident"),
        Figure("say", "each publishes one message", LINEAR),
        Figure("letter", "a letter to one of them by name", FLAT), QUIET, PAUSE,
        Figure("go", "all say goodbye", LINEAR),
    )),
    Experiment("real connections", 10, 3_200, 3_200, (
        Figure("connect", "all are welcomed, by the clock", LINEAR),
        Figure("cpu", "all are welcomed, CPU of the node", LINEAR), _bytes("each, resident in the node"),
    )),
    Experiment("topics", 10, 100_000, 1_000_000, (
        Figure("put", "all are published", LINEAR), _bytes("each, resident"),
        Figure("get", "one by its key", FLAT), Figure("find", "one by a pattern", LINEAR),
        Figure("join", "a newcomer is given all", LINEAR), PAUSE,
    )),
    Experiment("stored messages", 100, 1_000_000, 10_000_000, (
        Figure("append", "all are stored", LINEAR), Figure("disk", "each, on disk", FLAT, "B"),
        _bytes("each, resident after a restart"), Figure("restart", "restart", LINEAR), QUIET, PAUSE,
        Figure("drop", "all are taken, and leave the disk", LINEAR),
    )),
    Experiment("full backlog, newest dropped", 10, 10_000, 100_000, (
        Figure("drop", "a message more", FLAT),
    )),
    Experiment("full backlog, oldest dropped", 10, 10_000, 100_000, (
        Figure("drop", "a message more", FLAT),
    )),
    Experiment("letters that wait", 10, 32_000, 100_000, (
        Figure("write", "all are written", LINEAR), QUIET, Figure("take", "all are taken", LINEAR),
    )),
    Experiment("discovery, one of many", 10, 3_200, 3_200, (
        Figure("cpu", "CPU a second", FLAT), _bytes("what it knows of all", LINEAR),
    )),
    Experiment("discovery, simulated", 3, 320, 1_000, SEEN),
    Experiment("nodes, simulated", 3, 100, 1_000, (
        Figure("start", "until all see all, CPU of each", LINEAR),
        Figure("cpu", "CPU of each a second", LINEAR), _bytes("each, resident", LINEAR), *SEEN,
    )),
    Experiment("nodes, real", 3, 32, 60, (
        Figure("cpu", "CPU of each a second", LINEAR), _bytes("each, resident", LINEAR),
        Figure("meet", "until all see all", LINEAR), *SEEN,
    )),
)  # fmt: skip
