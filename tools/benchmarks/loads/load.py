"""The load of one run, as it is passed to the two programs that measure it."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Load:
    """The load of one run.

    `topics` are used in rotation, but with `many` or `alone`, only the first one. With `alone`, each message
    waits for the answer to the one before.
    """

    name: str
    root: str  # of the topics, unique to the run
    messages: int
    size: int = 100  # bytes of each
    topics: int = 1
    exact: bool = True  # one subscription per topic, else one pattern
    many: bool = False  # by publish_many
    persistent: bool = False
    alone: bool = False
    domain: str = ""
    rate: int = 0  # messages per second; 0: no limit
    letters: bool = False  # to the reader's inbox
    at_a_time: int = 0  # concurrent sessions of one message; 0: one session
    window: int = 0  # most unanswered messages; 0: the client's own limit
    reader: int = 0  # number among several that all get everything

    @property
    def keys(self) -> list[str]:
        return [f"{self.root}/{n}" for n in range(self.topics)]

    @property
    def inbox(self) -> str:
        """The name of the client that receives direct messages."""
        return self.root.replace("/", "-")

    @property
    def ready(self) -> Path:
        """The file that exists once the subscriber is ready, relative to the folder of the run."""
        return Path(f"{self.inbox}-{self.reader}.ready")

    def packed(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def unpacked(cls, text: str) -> "Load":
        return cls(**json.loads(text))


NUMBER = 8  # bytes of the number that begins each message


def content(number: int, padding: bytes) -> bytes:
    """Return a message that begins with its number, in NUMBER bytes with the low byte first."""
    return number.to_bytes(NUMBER, "little") + padding
