"""Where does that go which has just been put into a queue: which of its messages to which node?"""

# Law 1: a message goes to one node, or stays. It goes to nobody who does not take it, but where the mode is
#        strict, or where nothing may stay here.
# Law 2: in turn means message by message, for each set of nodes that could be meant: of two one gets the
#        even ones, the other the odd ones, in one envelope or in many.
# Law 3: of a group all messages that the same nodes take go to the same one, as every node reckons it.

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from hashlib import blake2b

from mesh.queues.declared.definition import Distribution
from mesh.queues.lots.counts import Runs, joined, numbers_of
from mesh.queues.lots.lot import Lot
from mesh.queues.moves.stock import Matching
from mesh.values import Headers
from mesh.wire.properties import decode_properties

NodeUuid = bytes  # its uuid
AllowedNodes = Mapping[NodeUuid, Matching]  # nodes that may be meant
REMEMBERED = 1_000  # sets of nodes whose turns are known
ANYTHING = Matching(None)


class Distributing:
    """The distribution of what is put into one queue at one node, `me`. It remembers whose turn it is."""

    def __init__(self, me: NodeUuid) -> None:
        self._me = me
        self._turns: dict[tuple[NodeUuid, ...], int] = {}

    def shares(
        self,
        mode: Distribution,
        lot: Lot,
        takers: Mapping[NodeUuid, Matching],
        homes: Collection[NodeUuid] | None = None,
    ) -> dict[NodeUuid, Runs]:
        """The messages that go to other nodes, by their numbers; the rest of what is ready in that lot stays.

        `takers`: the nodes where somebody takes, this one too, and what. `homes`: the nodes that can be
        reached, this one too, at which messages may stay; None: they may wherever somebody takes. With the
        mode strict `homes` are all that know the queue.
        """
        steps = self._steps(mode, takers, homes)
        if not steps:
            return {}
        if not lot.ready:
            self._had_turn(lot, steps[0])
            return {}
        if len(steps[0]) == 1:  # as a rule: it is enough to look at nothing
            ((node, taken),) = steps[0].items()
            if taken.takes_all:
                return {node: list(lot.ready)} if node != self._me else {}
        shares: dict[NodeUuid, list[int]] = {}
        for nodes, numbers in for_whom(lot, steps).items():
            turn, n = self._turn(nodes, len(numbers)), len(nodes)
            for i, node in enumerate(nodes):
                shares.setdefault(node, []).extend(numbers[(i - turn) % n :: n])
        shares.pop(self._me, None)
        return {node: joined(sorted(numbers)) for node, numbers in shares.items() if numbers}

    def _steps(
        self, mode: Distribution, takers: Mapping[NodeUuid, Matching], homes: Collection[NodeUuid] | None
    ) -> list[AllowedNodes]:
        """Who is meant at first, and who are when none of these takes it. None at all: it stays."""
        me = self._me
        is_home = homes is None or me in homes
        known = {node: each for node, each in takers.items() if each and (homes is None or node in homes)}
        anybody = dict.fromkeys(homes or (), ANYTHING)
        if mode == "strict":
            steps: list[AllowedNodes] = [anybody]
        elif not is_home:
            steps = [known, anybody]
        elif mode == "independent":
            steps = []
        elif mode == "local" and me in known:
            steps = [{me: known.pop(me)}, known]
        else:
            steps = [known]
        return [step for step in steps if step]

    def _had_turn(self, lot: Lot, nodes: AllowedNodes) -> None:
        """Count a message that was given out here before it was known who takes as the turn of this node."""
        if self._me in nodes and not lot.group and all(taken.takes_all for taken in nodes.values()):
            ordered = one_of("", nodes)
            self._turns[ordered] = (ordered.index(self._me) + 1) % len(ordered)

    def _turn(self, nodes: tuple[NodeUuid, ...], n: int) -> int:
        """The place of the first node of these that is given something, when there are n messages."""
        turn = self._turns.get(nodes, 0)
        if len(self._turns) >= REMEMBERED:
            self._turns.clear()
        self._turns[nodes] = (turn + n) % len(nodes)
        return turn


def for_whom(lot: Lot, steps: Sequence[AllowedNodes]) -> dict[tuple[NodeUuid, ...], list[int]]:
    """The numbers of what is ready, by the nodes of which one is to have them; without what nobody takes."""
    found: dict[tuple[NodeUuid, ...], list[int]] = {}
    numbers = list(numbers_of(lot.ready))
    if all(taken.takes_all for taken in steps[0].values()):
        return {one_of(lot.group, steps[0]): numbers}
    for number, key, headers in messages(lot, numbers):
        for step in steps:
            takers = [node for node, taken in step.items() if taken.takes(key, lot.priority, headers)]
            if takers:
                found.setdefault(one_of(lot.group, takers), []).append(number)
                break
    return found


def one_of(group: str, nodes: Collection[NodeUuid]) -> tuple[NodeUuid, ...]:
    """Those of which one is to have it: all of them, in order; for a group the one where it is at home."""
    if not group:
        return tuple(sorted(nodes))
    return (max(nodes, key=lambda node: blake2b(node + group.encode(), digest_size=16).digest()),)


def messages(lot: Lot, numbers: Sequence[int]) -> Iterator[tuple[int, str, Headers]]:
    """(number, key, headers) of these messages."""
    e = lot.envelope
    places = {number: i for i, number in enumerate(e.number_list(range(e.count)))}
    for number in numbers:
        i = places[number]
        yield number, e.keys[e.row(i)], decode_properties(e.message(i)[0]).headers
