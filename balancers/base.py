"""Interface of balancing strategies: their input, and their base class."""

# Law 1: a strategy returns only names of candidates. There is at least one candidate, and names are unique.
# Law 2: `order` and `assign` consist of picks: an order begins with the node that `pick` would have returned,
# and n assigned messages go to the nodes of n picks.
# Law 3: strategies use no clock, no randomness and no waiting of their own. Random numbers and all knowledge
# of other nodes are arguments.

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, ClassVar, Protocol

Jitter = Callable[[], float]  # a random number from [0, 1)

NONE: Mapping[str, str] = MappingProxyType({})


class NoCandidates(ValueError):
    """The list of candidates is empty."""

    code = "NO_CANDIDATES"

    def __init__(self) -> None:
        super().__init__(
            "a balancer was called without candidates: no node that could accept the message is reachable. "
            "Check `mesh ls`, and call a balancer only with candidates. [NO_CANDIDATES]"
        )


@dataclass(frozen=True, slots=True)
class Candidate:
    """A node that can be chosen, as the choosing node knows it."""

    node: str  # its name
    uuid: bytes = b""
    load: float | None = None  # 0 (idle) to 1 (busy), as it reports; None = unknown
    age: float | None = None  # s since that report
    ram_free: int | None = None  # bytes
    latency: float = 0.0  # s, as measured here; 0 = unknown
    outstanding: int = 0  # messages that it has not answered
    sent: float = 0.0  # recently sent, not yet in `load`; see balancers/sent.py
    weight: float = 1.0  # learned or configured factor; 1 = average
    metadata: Mapping[str, str] = field(
        default_factory=lambda: NONE
    )  # published by the node, such as its rack
    # Consumers of the message's address at the node; 0 if the message has no address.
    consumers: int = 0
    is_here: bool = False  # whether this node is the one that chooses


Candidates = Sequence[Candidate]


@dataclass(frozen=True, slots=True)
class NodeInfo:
    """The node that chooses."""

    node: str  # its name
    uuid: bytes = b""
    interval: float = 2.0  # s between two published node states
    metadata: Mapping[str, str] = field(default_factory=lambda: NONE)


@dataclass(frozen=True, slots=True)
class Registration:
    """A change in the number of consumers of an address at a node, negative if consumers left."""

    address: str
    node: str
    change: int = 1


@dataclass(frozen=True, slots=True)
class Unread:
    """A message that exposes only its key and domain.

    Headers and other fields are available only to strategies that set `reads_message`.
    """

    key: str
    domain: str = ""

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"{name}: only a strategy with reads_message = True can read it")


class MessageHeaders(Protocol):
    """Case-insensitive lookup of the first value of a header."""

    def get(self, name: str, /) -> str | None:
        """Return the first value of the header, or `None` without one."""


class Message(Protocol):
    """A message to be sent, such as a `mesh.Message`."""

    @property
    def key(self) -> str:
        """The key of the message; "" if a message to an address has none."""
        ...

    @property
    def domain(self) -> str:
        """The domain of the message; "" for none."""
        ...

    @property
    def content(self) -> bytes:
        """The content of the message, as sent."""
        ...

    @property
    def headers(self) -> MessageHeaders:
        """The headers that its publisher set."""
        ...

    @property
    def priority(self) -> int:
        """The priority of the message in a queue, 0 to 9; the highest is delivered first."""
        ...

    @property
    def sender(self) -> str:
        """The session that sent the message, such as "/node/heron/client/joe/session/1"."""
        ...


class Balancer(Protocol):
    """A balancing strategy.

    Candidates come in any order. `message` is None if there is no message, as for a subscription.
    """

    def pick(self, candidates: Candidates, message: Message | None = None) -> str:
        """Return the name of the best candidate. Raises: NoCandidates, as all methods with candidates do."""

    def assign(self, candidates: Candidates, n: int, message: Message | None = None) -> dict[str, int]:
        """Return how many of n messages go to each node.

        Counts are at least 1 and add up to n, which may be 0.
        """

    def order(self, candidates: Candidates, message: Message | None = None) -> list[str]:
        """Return the names of all candidates, the best first, in the order in which the caller tries them."""

    def several(self, candidates: Candidates, message: Message | None = None) -> list[str]:
        """Return the names of the candidates that receive a message to several nodes: any subset of them."""

    def started(self, node_info: NodeInfo) -> None:
        """Set the node that chooses.

        Called once, before any other method.
        """

    def registrations(self, delta: Sequence[Registration]) -> None:
        """Record changes of consumers."""


class Strategy(ABC):
    """Base class of balancers; a subclass must implement only `pick`.

    `jitter` returns random numbers in [0, 1).
    """

    reads_message: ClassVar[bool] = False  # whether it reads more of a message than its key

    def __init__(self, jitter: Jitter) -> None:
        self._jitter = jitter

    @abstractmethod
    def pick(self, candidates: Candidates, message: Message | None = None) -> str:
        """Return the name of the best candidate."""

    def assign(self, candidates: Candidates, n: int, message: Message | None = None) -> dict[str, int]:
        """Return how often each node is chosen in `n` picks.

        Each pick counts as a sent message in the next pick.
        """
        among = {candidate.node: candidate for candidate in at_least_one(candidates)}
        counts: dict[str, int] = {}
        for _ in range(n):
            node = self.pick(list(among.values()), message)
            among[node] = replace(among[node], sent=among[node].sent + 1)
            counts[node] = counts.get(node, 0) + 1
        return counts

    def order(self, candidates: Candidates, message: Message | None = None) -> list[str]:
        """Return the names of all candidates, each picked among the remaining ones."""
        left = {candidate.node: candidate for candidate in at_least_one(candidates)}
        found = []
        while left:
            found.append(self.pick(list(left.values()), message))
            del left[found[-1]]
        return found

    def several(self, candidates: Candidates, message: Message | None = None) -> list[str]:
        """Return the names of all candidates."""
        return [candidate.node for candidate in at_least_one(candidates)]

    def started(self, node_info: NodeInfo) -> None:  # noqa: B027 - most need not know
        """Do nothing; a strategy that uses data of the choosing node overrides this method."""

    def registrations(self, delta: Sequence[Registration]) -> None:  # noqa: B027 - most need not know
        """Do nothing; a strategy that counts consumers itself overrides this method."""


def at_least_one(candidates: Candidates) -> Candidates:
    """Return the candidates. Raises: NoCandidates, if there are none."""
    if not candidates:
        raise NoCandidates
    return candidates


def reads_message(balancer: Balancer) -> bool:
    """Return whether the balancer reads more of a message than its key.

    A balancer without the attribute `reads_message` does not.
    """
    return getattr(balancer, "reads_message", False) is True
