"""What is sent in one run, and how is it told to the two programs that measure it?"""

import json
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Load:
    """The load of one run. `topics` are used in rotation; with `alone` each message awaits its answer."""

    name: str
    root: str  # of the topics: no two runs share one
    messages: int
    size: int = 100  # bytes of each
    topics: int = 1
    exact: bool = True  # one subscription a topic, else one pattern
    many: bool = False  # by publish_many
    persistent: bool = False
    alone: bool = False
    domain: str = ""
    rate: int = 0  # messages a second, on a fixed schedule; 0: as fast as it goes
    letters: bool = False  # to the reader's inbox
    at_a_time: int = 0  # sessions of one message each; 0: one session sends all
    window: int = 0  # messages that may be unanswered; 0: what the client allows
    reader: int = 0  # which of several that all get all of it

    @property
    def keys(self) -> list[str]:
        return [f"{self.root}/{n}" for n in range(self.topics)]

    @property
    def inbox(self) -> str:
        """The client that letters are for."""
        return self.root.replace("/", "-")

    @property
    def ready(self) -> Path:
        """This file says that the subscriber is: from now on nothing is missed."""
        return Path(f"{self.inbox}-{self.reader}.ready")

    def packed(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def unpacked(cls, text: str) -> "Load":
        return cls(**json.loads(text))


NUMBER = 8  # bytes at the beginning of each message: which one it is


def content(number: int, padding: bytes) -> bytes:
    """A message that says which one it is."""
    return number.to_bytes(NUMBER, "little") + padding
