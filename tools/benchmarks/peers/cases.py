"""The cases of comparisons, and the clients that take part in each."""

from dataclasses import dataclass

from tools.benchmarks.loads.load import Load
from tools.benchmarks.peers.who import Who, named

OURS = ("heronry", "heronry, many", "heronry, two hops")
C = ("nats-c", "zmq-c", "redis-c", "mosquitto-c")
PYTHON = ("nats-py", "zmq-py", "zenoh-py", "redis-py", "mosquitto-py")
ALL = ("heronry", *C, *PYTHON)
LETTERS = ("heronry, send", "nats-c", "nats-py", "redis-list-c", "mosquitto-c")
OWN_NODES = ("heronry, own nodes", "heronry", "heronry, two nodes", "zenoh-peer-py", "nats-py")
SESSIONS = ("heronry, sessions", "nats-sessions-py")
WINDOW = 4_000


@dataclass(frozen=True, slots=True)
class Case:
    """A case of a comparison.

    Each of `pairs` senders has topics of its own, and `fan` receivers that all receive all of its messages.
    """

    what: str
    who: tuple[str, ...]
    share: int = 1  # divisor for the number of messages
    size: int = 100
    topics: int = 1
    exact: bool = True  # one subscription per topic, else one pattern
    fan: int = 1
    pairs: int = 1
    rate: int = 0
    letters: bool = False  # to one receiver, by name
    at_a_time: int = 0  # concurrent sessions of one message; 0: one session
    is_acked: bool = False  # until the last answer of the server

    @property
    def unit(self) -> str:
        return "ms" if self.rate else "sessions/s" if self.at_a_time else "msg/s"

    def loads(self, root: str, who: Who, messages: int, seconds: int) -> list[Load]:
        """Return the load of each sender.

        It has `messages` messages, divided by `share`, `pairs` and `who.slow`, or with a schedule, those of
        `seconds`. It has at least 10, and one for each topic.
        """
        count = self.rate * seconds or messages // self.share // self.pairs // who.slow
        count = max(count, self.topics, 10)
        window = WINDOW if self.is_acked else 0
        return [
            Load(
                self.what,
                f"{root}/{pair}",
                count,
                self.size,
                self.topics,
                self.exact,
                rate=self.rate,
                persistent=self.is_acked,
                window=window,
                letters=self.letters,
                at_a_time=self.at_a_time,
            )
            for pair in range(self.pairs)
        ]


CASES = {
    "1-1": Case("1→1, 100 B", (*OURS, *C, *PYTHON)),
    "topics": Case("1→1, 100 B, 100 topics in rotation", ALL, share=4, topics=100),
    "1000-topics": Case(
        "1→1, 100 B, 1,000 topics in rotation, one pattern", ("heronry",), topics=1000, exact=False
    ),
    "embedded": Case("1→1, 100 B, no node between, or one each", OWN_NODES),
    "embedded-500/s": Case("500/s, 100 B, p50, likewise", OWN_NODES, rate=500),
    "1k": Case("1→1, 1 KiB", ALL, share=4, size=1024),
    "64k": Case("1→1, 64 KiB", ALL, share=200, size=65536),
    "1-4": Case("1→4, 100 B", ALL, share=2, fan=4),
    "4-4": Case("4→4, 100 B, each to its own", ALL, pairs=4),
    "curve": Case("1→1, 100 B, over TCP", ("heronry, tcp", "heronry, curve")),
    "letters": Case("letters to one, 100 B", LETTERS, share=4, letters=True),
    "durable": Case(
        "persistent, acked, window 4,000, 100 B", ("heronry", "jetstream-c"), share=2, is_acked=True
    ),
    "sessions": Case("sessions of one message, 100 B, 100 at a time", SESSIONS, share=100, at_a_time=100),
    "500/s": Case("500/s, 100 B, p50", ("heronry", "nats-c", "nats-py", "zmq-py", "zenoh-py"), rate=500),
    "150k/s": Case("150,000/s, 100 B, p50", ("heronry", "nats-c"), rate=150_000),
}


def row_of(case: str, who: str) -> str:
    return f"{case}: {who}"


def cases_of(text: str) -> list[str]:
    """Return the comma-separated cases, or all without a name.

    Raises: ArgumentTypeError, for an unknown one.
    """
    names = named(text, "case", CASES)
    return [name for name in CASES if not names or name in names]
