"""With which loads is who measured, and which ratios shall come of it?"""

from dataclasses import dataclass

from tools.benchmarks.load import Load
from tools.benchmarks.peers.who import Who

OURS = ("heronry", "heronry, many", "heronry, two hops")
C = ("nats-c", "zmq-c", "redis-c", "mosquitto-c")
PYTHON = ("nats-py", "zmq-py", "zenoh-py", "redis-py", "mosquitto-py")
ALL = ("heronry", *C, *PYTHON)
LETTERS = ("heronry, send", "nats-c", "nats-py", "redis-list-c", "mosquitto-c")
WINDOW = 4_000


@dataclass(frozen=True, slots=True)
class Case:
    """`pairs` senders, each with a topic of its own and `fan` receivers that all get all of it."""

    what: str
    who: tuple[str, ...]
    share: int = 1  # of the messages that are asked for, one in so many
    size: int = 100
    topics: int = 1
    fan: int = 1
    pairs: int = 1
    rate: int = 0
    letters: bool = False  # to one receiver, by name
    is_acked: bool = False  # what counts is when the last was answered, by who keeps it

    @property
    def unit(self) -> str:
        return "ms" if self.rate else "msg/s"

    def loads(self, root: str, who: Who, messages: int, seconds: int) -> list[Load]:
        """One of each sender."""
        count = self.rate * seconds or messages // self.share // self.pairs // who.slow
        count = max(count, self.topics, 10)
        window = WINDOW if self.is_acked else 0
        return [
            Load(self.what, f"{root}/{pair}", count, self.size, self.topics, rate=self.rate,
                 persistent=self.is_acked, window=window, letters=self.letters)
            for pair in range(self.pairs)
        ]  # fmt: skip


CASES = {
    "1-1": Case("1→1, 100 B", (*OURS, *C, *PYTHON)),
    "topics": Case("1→1, 100 B, 100 topics in rotation", ALL, share=4, topics=100),
    "1k": Case("1→1, 1 KiB", ALL, share=4, size=1024),
    "64k": Case("1→1, 64 KiB", ALL, share=200, size=65536),
    "1-4": Case("1→4, 100 B", ALL, share=2, fan=4),
    "4-4": Case("4→4, 100 B, each to its own", ALL, pairs=4),
    "letters": Case("letters to one, 100 B", LETTERS, share=4, letters=True),
    "durable": Case(
        "persistent, acked, window 4,000, 100 B", ("heronry", "jetstream-c"), share=2, is_acked=True
    ),
    "500/s": Case("500/s, 100 B, p50", ("heronry", "nats-c", "nats-py", "zmq-py", "zenoh-py"), rate=500),
    "150k/s": Case("150,000/s, 100 B, p50", ("heronry", "nats-c"), rate=150_000),
}
# (case, who of us, of whom, goal, whether more is better)
RATIOS = (
    ("1-1", "heronry", "nats-c", 1.5, True),
    ("1-4", "heronry", "nats-c", 1.7, True),
    ("1k", "heronry", "nats-c", 1.3, True),
    ("1-1", "heronry", "zenoh-py", 5.0, True),
    ("1-1", "heronry", "nats-py", 12.0, True),
    ("1-1", "heronry", "redis-py", 25.0, True),
    ("1-1", "heronry, two hops", "nats-c", 0.85, True),
    ("1-1", "heronry", "zmq-c", 1.0, True),
    ("1-1", "heronry, many", "nats-c", 2.2, True),
    ("durable", "heronry", "jetstream-c", 3.0, True),
    ("500/s", "heronry", "zmq-py", 1.3, False),
    ("500/s", "heronry", "zenoh-py", 1.0, False),
    ("150k/s", "heronry", "nats-c", 0.8, False),
)


def row_of(case: str, who: str) -> str:
    """The name of this figure."""
    return f"{case}: {who}"


def ratio_of(case: str, who: str, base: str) -> str:
    """The name of this ratio."""
    return f"{case}: {who} / {base}"
