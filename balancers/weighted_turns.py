"""Weighted round robin with credits."""

# Each candidate of a group has a credit, counted in messages. For each message, every candidate earns its
# share, and the candidate with the highest credit is picked and pays 1. This spreads picks evenly: a b a c a,
# never a a a b c. A group is a set of possible candidates with its own credits, so picks among other sets do
# not change them. Each change of the candidates creates another group. A new group begins with the node whose
# last pick in any group is the oldest, which balances even sets that change all the time.

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass

from mesh.balancers.base import Candidates, Jitter, Message, Strategy, at_least_one

GROUPS = 1024  # most recent groups that are remembered
TURNS = 4096  # nodes whose last pick is remembered


@dataclass(slots=True)
class TurnGroup:
    """A set of candidates, each with its share of the messages and its credit."""

    shares: dict[str, float]
    credits: dict[str, float]

    def next_turn(self) -> str:
        """Add the shares to the credits, and return the node with the highest credit, which pays 1."""
        for node, share in self.shares.items():
            self.credits[node] += share
        node = max(self.credits, key=self.credits.__getitem__)
        self.credits[node] -= 1
        return node

    def whole_turns(self, n: int) -> dict[str, int]:
        """Return each node's share of `n` messages, rounded down, and adjust the credits.

        The number of messages that remain is smaller than the number of nodes.
        """
        counts = {node: int(n * share) for node, share in self.shares.items()}
        given = sum(counts.values())
        for node, share in self.shares.items():
            self.credits[node] += given * share - counts[node]
        return counts


class WeightedTurns(Strategy):
    """Base class of weighted round-robin balancers.

    Candidates of weight 0 are picked only if all weights are 0.
    """

    def __init__(self, jitter: Jitter) -> None:
        super().__init__(jitter)
        self._groups: dict[tuple[str, frozenset[str]], TurnGroup] = {}  # most recent last
        self._turns: dict[str, int] = {}  # last pick of each node, most recent last
        self._turn = 0

    @abstractmethod
    def weights(self, candidates: Candidates, message: Message | None) -> tuple[str, Mapping[str, float]]:
        """Return the scope of the credits ("" for all messages), and the weight of each candidate by name."""

    def pick(self, candidates: Candidates, message: Message | None = None) -> str:
        node = self._group(at_least_one(candidates), message).next_turn()
        self._took_turn(node)
        return node

    def assign(self, candidates: Candidates, n: int, message: Message | None = None) -> dict[str, int]:
        group = self._group(at_least_one(candidates), message)
        counts = group.whole_turns(n)
        for _ in range(n - sum(counts.values())):
            counts[group.next_turn()] += 1
        counts = {node: count for node, count in counts.items() if count}
        for node in counts:
            self._took_turn(node)
        return counts

    def order(self, candidates: Candidates, message: Message | None = None) -> list[str]:
        """Return the picked node, then the others, the highest credit first.

        Only the picked node pays.
        """
        first = self.pick(candidates, message)
        owed = self._group(candidates, message).credits
        others = [candidate.node for candidate in candidates if candidate.node != first]
        return [first, *sorted(others, key=lambda node: owed.get(node, float("-inf")), reverse=True)]

    def _group(self, candidates: Candidates, message: Message | None) -> TurnGroup:
        what, weights = self.weights(candidates, message)
        total = sum(weights.values())
        shares = {node: weight / total for node, weight in weights.items() if weight}
        if not shares:
            shares = dict.fromkeys(weights, 1 / len(weights))
        name = (what, frozenset(shares))
        group = self._groups.pop(name, None)
        if group is None:
            group = TurnGroup(shares, self._first_credits(shares))
        group.shares = shares
        self._groups[name] = group
        if len(self._groups) > GROUPS:
            del self._groups[next(iter(self._groups))]
        return group

    def _first_credits(self, shares: Mapping[str, float]) -> dict[str, float]:
        """Return initial credits: a fraction of a share, higher for nodes that have waited longer."""
        # Nodes without any pick come first, in random order, so that not all senders begin with the same
        # node.
        waiting = sorted(shares, key=lambda node: self._turns.get(node, -self._jitter()), reverse=True)
        return {node: shares[node] * place / len(waiting) for place, node in enumerate(waiting)}

    def _took_turn(self, node: str) -> None:
        self._turn += 1
        self._turns.pop(node, None)
        self._turns[node] = self._turn
        if len(self._turns) > TURNS:
            del self._turns[next(iter(self._turns))]


def key_of(message: Message | None) -> str:
    """Return the key of the message, or "" without a message, as the scope of its credits.

    With one scope for all keys, messages to two alternating keys could each go to the same node every time.
    """
    return message.key if message is not None else ""
