"""Whose turn is it, when some have more turns than others?"""

# Each candidate of a group has a credit, counted in messages. With every message all earn their share of it,
# and who has the most is picked and pays 1. So turns are spread evenly: a b a c a, never a a a b c.
#
# A group is the set of those who could be picked, with its own credits: what is picked elsewhere, among
# others, takes nobody's turn here. Whoever comes or goes makes it another group; that begins with whoever
# was picked the longest ago, anywhere, so that a set that never stays the same is shared out all the same.

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass

from balancers.base import Candidates, Jitter, Message, Strategy, at_least_one

GROUPS = 1024  # that are remembered, the latest
TURNS = 4096  # nodes of which is remembered when they were picked


@dataclass(slots=True)
class TurnGroup:
    """A group of those who could be picked: which part of all messages each gets, and what it is owed."""

    shares: dict[str, float]
    credits: dict[str, float]

    def next(self) -> str:
        """The node whose turn it is, and who takes it."""
        for node, share in self.shares.items():
            self.credits[node] += share
        node = max(self.credits, key=self.credits.__getitem__)
        self.credits[node] -= 1
        return node

    def whole_turns(self, n: int) -> dict[str, int]:
        """The number of n messages that each gets in any case; fewer are left than there are members."""
        counts = {node: int(n * share) for node, share in self.shares.items()}
        given = sum(counts.values())
        for node, share in self.shares.items():
            self.credits[node] += given * share - counts[node]
        return counts


class InTurn(Strategy):
    """A balancer that goes by weights; those of weight 0 are never picked, unless all have it."""

    def __init__(self, jitter: Jitter) -> None:
        super().__init__(jitter)
        self._groups: dict[tuple[str, frozenset[str]], TurnGroup] = {}  # the latest last
        self._turns: dict[str, int] = {}  # when each was picked, the latest last
        self._turn = 0

    @abstractmethod
    def weights(self, candidates: Candidates, message: Message | None) -> tuple[str, Mapping[str, float]]:
        """The weight of each, at least 0, by name; and for what they hold ("" = for all messages)."""

    def pick(self, candidates: Candidates, message: Message | None = None) -> str:
        node = self._group(at_least_one(candidates), message).next()
        self._took_turn(node)
        return node

    def assign(self, candidates: Candidates, n: int, message: Message | None = None) -> dict[str, int]:
        group = self._group(at_least_one(candidates), message)
        counts = group.whole_turns(n)
        for _ in range(n - sum(counts.values())):
            counts[group.next()] += 1
        counts = {node: count for node, count in counts.items() if count}
        for node in counts:
            self._took_turn(node)
        return counts

    def order(self, candidates: Candidates, message: Message | None = None) -> list[str]:
        """The node whose turn it is, then the others by what they are owed. Only the first takes it."""
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
        """A part of what each earns with one message: the more, the longer it waits."""
        # Those that were never picked wait the longest, in any order: not every sender begins with the same.
        waiting = sorted(shares, key=lambda node: self._turns.get(node, -self._jitter()), reverse=True)
        return {node: shares[node] * place / len(waiting) for place, node in enumerate(waiting)}

    def _took_turn(self, node: str) -> None:
        self._turn += 1
        self._turns.pop(node, None)
        self._turns[node] = self._turn
        if len(self._turns) > TURNS:
            del self._turns[next(iter(self._turns))]


def key_of(message: Message | None) -> str:
    """For what turns are counted: two addresses that are used by turns would each find the same node."""
    return message.key if message is not None else ""
