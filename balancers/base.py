"""What is a strategy shown, and what does it answer?"""

# Law 1: only candidates are named; there is always at least one, and no two have the same name.
# Law 2: `order` and `assign` are made of picks: the first of an order is what `pick` would have said, and n
#        messages that are assigned go where n picks would have sent them.
# Law 3: no clock, no dice, no waiting: chance comes in by the door, and so does all that is known of others.

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, ClassVar, Protocol

Jitter = Callable[[], float]  # a random number from [0, 1)

NONE: Mapping[str, str] = MappingProxyType({})


class NoCandidates(ValueError):
    """There is nobody to choose from."""

    code = "NO_CANDIDATES"

    def __init__(self) -> None:
        super().__init__(
            "a balancer was asked to choose among no candidates: no node that could take the message can be "
            "reached. Look at `mesh ls`, and ask only when there is one. [NO_CANDIDATES]"
        )


@dataclass(frozen=True, slots=True)
class Candidate:
    """A node that could be chosen, and all that is known of it here and now."""

    node: str  # its name
    uuid: bytes = b""
    load: float | None = None  # 0 (idle) to 1 (busy), as it says itself; None = unknown
    age: float | None = None  # s since it said so
    ram_free: int | None = None  # bytes
    latency: float = 0.0  # s, as measured here; 0 = unknown
    outstanding: int = 0  # what was sent there and is not answered
    sent: float = 0.0  # what was sent there and is not in `load` yet; see balancers/sent.py
    weight: float = 1.0  # how much it counts beside others, learnt or given by people; 1 = as any other
    metadata: Mapping[str, str] = field(
        default_factory=lambda: NONE
    )  # what it says of itself, such as its rack
    consumers: int = 0  # how many serve the message's address there; 0 where it goes to no address
    is_here: bool = False  # is it the node that chooses?


Candidates = Sequence[Candidate]


@dataclass(frozen=True, slots=True)
class NodeInfo:
    """The node that chooses."""

    node: str  # its name
    uuid: bytes = b""
    interval: float = 2.0  # s between two states that a node says of itself
    metadata: Mapping[str, str] = field(default_factory=lambda: NONE)


@dataclass(frozen=True, slots=True)
class Registration:
    """A change of the consumers of an address at a node: `change` more, or fewer if it is negative."""

    address: str
    node: str
    change: int = 1


@dataclass(frozen=True, slots=True)
class Unread:
    """A message of which only the address is known: `headers` and the rest are there for those who say that
    they read them."""

    key: str
    domain: str = ""

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"{name}: only a strategy with reads_message = True sees that")


class MessageHeaders(Protocol):
    """Looks up the first value of a name, which ignores case."""

    def get(self, name: str, /) -> str | None: ...


class Message(Protocol):
    """A message that is to be sent. `mesh.Message` is one."""

    @property
    def key(self) -> str: ...
    @property
    def domain(self) -> str: ...
    @property
    def content(self) -> bytes: ...
    @property
    def headers(self) -> MessageHeaders: ...
    @property
    def priority(self) -> int: ...
    @property
    def sender(self) -> str: ...


class Balancer(Protocol):
    """Chooses. Candidates come in any order; without a message there is none, as for a subscription."""

    def pick(self, candidates: Candidates, message: Message | None = None) -> str:
        """The name of the best one. Raises NoCandidates, as all do that get candidates."""

    def assign(self, candidates: Candidates, n: int, message: Message | None = None) -> dict[str, int]:
        """The number of n messages that goes to each: counts of at least 1, n in all. n may be 0."""

    def order(self, candidates: Candidates, message: Message | None = None) -> list[str]:
        """Every candidate once, the best first: whom to ask, and whom next if that one fails."""

    def several(self, candidates: Candidates, message: Message | None = None) -> list[str]:
        """Those who get a message that is for all: none, some or all, each once."""

    def started(self, node_info: NodeInfo) -> None:
        """Said once, before anything is asked: for whom it chooses."""

    def registrations(self, delta: Sequence[Registration]) -> None:
        """Consumers came or went."""


class Strategy(ABC):
    """A balancer of which only `pick` need be written. It is made with a source of chance."""

    reads_message: ClassVar[bool] = False  # does it look at more of a message than its key?

    def __init__(self, jitter: Jitter) -> None:
        self._jitter = jitter

    @abstractmethod
    def pick(self, candidates: Candidates, message: Message | None = None) -> str:
        """The name of the best one."""

    def assign(self, candidates: Candidates, n: int, message: Message | None = None) -> dict[str, int]:
        """n picks; what one of them chose counts as sent for the next."""
        among = {candidate.node: candidate for candidate in at_least_one(candidates)}
        counts: dict[str, int] = {}
        for _ in range(n):
            node = self.pick(list(among.values()), message)
            among[node] = replace(among[node], sent=among[node].sent + 1)
            counts[node] = counts.get(node, 0) + 1
        return counts

    def order(self, candidates: Candidates, message: Message | None = None) -> list[str]:
        """A pick, a pick among the others, and so on."""
        left = {candidate.node: candidate for candidate in at_least_one(candidates)}
        found = []
        while left:
            found.append(self.pick(list(left.values()), message))
            del left[found[-1]]
        return found

    def several(self, candidates: Candidates, message: Message | None = None) -> list[str]:
        """All of them."""
        return [candidate.node for candidate in at_least_one(candidates)]

    def started(self, node_info: NodeInfo) -> None:  # noqa: B027 - most need not know
        """For whom it chooses."""

    def registrations(self, delta: Sequence[Registration]) -> None:  # noqa: B027 - most need not know
        """Consumers came or went."""


def at_least_one(candidates: Candidates) -> Candidates:
    """The candidates, of which there is at least one. Raises NoCandidates."""
    if not candidates:
        raise NoCandidates
    return candidates


def reads_message(balancer: Balancer) -> bool:
    """Does it look at more of a message than its key? Who does not say so does not."""
    return getattr(balancer, "reads_message", False) is True
