"""The facts that the components of a node have published and that are not yet handled."""

# Law 1: facts are handled in the order in which they were published.
# Law 2: a fact of `publish_last` is queued once, and is handled after all ordinary facts.

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from mesh.kernel.context.facts import Fact


class FactQueue:
    """The facts of the current event; the components above their publishers handle them."""

    def __init__(self) -> None:
        self.queue: deque[Fact] = deque()
        self.last: set[type[Fact]] = set()  # kinds in `queue` by publish_last
        self.watched = False  # whether traces are recorded; set by their users

    def publish_fact(self, fact: Fact) -> None:
        """Record a fact for the components above."""
        self.queue.append(fact)

    def publish_last(self, fact: Fact) -> None:
        """Record a fact that is handled after all ordinary facts, including later ones.

        Until it is handled, further facts of its class are ignored.
        """
        if type(fact) not in self.last:
            self.last.add(type(fact))
            self.queue.append(fact)

    def dispatch(self, handlers: Mapping[type[Fact], Sequence[Callable[[Any], None]]]) -> None:
        """Handle all facts, including facts that their handlers publish."""
        facts, last = self.queue, self.last
        while facts:
            fact = facts.popleft()
            if type(fact) in last:
                if len(facts) >= len(last):  # ordinary facts come first
                    facts.append(fact)
                    continue
                last.discard(type(fact))
            for then in handlers[type(fact)]:
                then(fact)
