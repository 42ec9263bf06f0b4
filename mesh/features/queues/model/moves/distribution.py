"""Decides to which nodes newly published messages of a queue go."""

# Law 1: a message goes to one node, or stays. It goes only to a node with a matching consumer, except in mode
#   strict and where messages may not stay here.
# Law 2: round robin works by message and by set of candidate nodes: of two nodes one gets the even messages,
#   the other the odd ones, in one envelope or in many.
# Law 3: messages of a group that the same nodes match go to the same node, and every node computes the same
#   one.

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from hashlib import blake2b

from mesh.features.queues.model.declared.definition import Distribution
from mesh.features.queues.model.envelopes.counts import Runs, joined, numbers_of
from mesh.features.queues.model.envelopes.queued_envelope import QueuedEnvelope
from mesh.features.queues.model.moves.queue_report import Matching
from mesh.values import Headers
from mesh.wire.properties import decode_properties

NodeUuid = bytes  # the uuid of a node
AllowedNodes = Mapping[NodeUuid, Matching]  # candidate nodes
REMEMBERED = 1_000  # sets of nodes whose next turn is kept
ANYTHING = Matching(None)


class Distributing:
    """The distribution of messages published to one queue at the node `me`, with its round-robin state."""

    def __init__(self, me: NodeUuid) -> None:
        self._me = me
        self._turns: dict[tuple[NodeUuid, ...], int] = {}

    def shares(
        self,
        mode: Distribution,
        queued: QueuedEnvelope,
        takers: Mapping[NodeUuid, Matching],
        homes: Collection[NodeUuid] | None = None,
    ) -> dict[NodeUuid, Runs]:
        """Return the messages that go to each other node, by their numbers; other ready messages stay.

        `takers` maps each node with consumers, including this one, to the messages that its consumers match.
        `homes` has the nodes where messages may stay; this node is one of them unless messages must leave it.
        With `None`, messages may stay wherever a consumer is. Mode strict requires `homes`.
        """
        steps = self._steps(mode, takers, homes)
        if not steps:
            return {}
        if not queued.ready:
            self._had_turn(queued, steps[0])
            return {}
        if len(steps[0]) == 1:  # the usual case: no message is decoded
            ((node, taken),) = steps[0].items()
            if taken.takes_all:
                return {node: list(queued.ready)} if node != self._me else {}
        shares: dict[NodeUuid, list[int]] = {}
        for nodes, numbers in for_whom(queued, steps).items():
            turn, n = self._turn(nodes, len(numbers)), len(nodes)
            for i, node in enumerate(nodes):
                shares.setdefault(node, []).extend(numbers[(i - turn) % n :: n])
        shares.pop(self._me, None)
        return {node: joined(sorted(numbers)) for node, numbers in shares.items() if numbers}

    def _steps(
        self, mode: Distribution, takers: Mapping[NodeUuid, Matching], homes: Collection[NodeUuid] | None
    ) -> list[AllowedNodes]:
        """Return the candidate nodes in steps: messages that match no node of a step go to the next step.

        Without a step, all messages stay.
        """
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

    def _had_turn(self, queued: QueuedEnvelope, nodes: AllowedNodes) -> None:
        """Count an envelope without ready messages as this node's turn: its messages were delivered here.

        Nothing is counted for a message group, or if a candidate node has only consumers with selectors.
        """
        if self._me in nodes and not queued.group and all(taken.takes_all for taken in nodes.values()):
            ordered = one_of("", nodes)
            self._turns[ordered] = (ordered.index(self._me) + 1) % len(ordered)

    def _turn(self, nodes: tuple[NodeUuid, ...], n: int) -> int:
        turn = self._turns.get(nodes, 0)
        if len(self._turns) >= REMEMBERED:
            self._turns.clear()
        self._turns[nodes] = (turn + n) % len(nodes)
        return turn


def for_whom(queued: QueuedEnvelope, steps: Sequence[AllowedNodes]) -> dict[tuple[NodeUuid, ...], list[int]]:
    """Return the numbers of ready messages by candidate nodes, of which only one receives each message.

    Messages that no node matches are left out.
    """
    found: dict[tuple[NodeUuid, ...], list[int]] = {}
    numbers = list(numbers_of(queued.ready))
    if all(taken.takes_all for taken in steps[0].values()):
        return {one_of(queued.group, steps[0]): numbers}
    for number, key, headers in messages(queued, numbers):
        for step in steps:
            takers = [node for node, taken in step.items() if taken.takes(key, queued.priority, headers)]
            if takers:
                found.setdefault(one_of(queued.group, takers), []).append(number)
                break
    return found


def one_of(group: str, nodes: Collection[NodeUuid]) -> tuple[NodeUuid, ...]:
    """Return all nodes in order, or only the home node if `group` is not empty."""
    if not group:
        return tuple(sorted(nodes))
    return (max(nodes, key=lambda node: blake2b(node + group.encode(), digest_size=16).digest()),)


def messages(queued: QueuedEnvelope, numbers: Sequence[int]) -> Iterator[tuple[int, str, Headers]]:
    e = queued.envelope
    places = {number: i for i, number in enumerate(e.number_list(range(e.count)))}
    for number in numbers:
        i = places[number]
        yield number, e.keys[e.row(i)], decode_properties(e.message(i)[0]).headers
