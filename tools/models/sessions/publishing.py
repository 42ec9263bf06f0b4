"""Model of a publisher that moves between nodes 0 and 1.

With a rule, node 2 is the master. Without one, each node is master of the messages that are published there,
and a subscriber at node 2 receives from both logs.

S1 the master has each answered message
S2 the messages that are not flagged as late arrive in order
S3 no message arrives twice
S6 at rest: each message has arrived, and the publisher has each answer
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from tools.models.bits import bit, lowest, replaced, up_to
from tools.models.search import Violation
from tools.models.sessions.rules import Verdict, is_accepted, number_verdict, unanswered

MESSAGES = 3
NUMBERS = up_to(MESSAGES)
LATE = 16  # added to a number that is received late
REST = 100  # steps within which a state must come to rest


class Publisher(NamedTuple):
    """The publisher, with sets of numbers."""

    at: int = 0  # -1: not connected
    visits: int = 1
    sent: int = 0  # on this connection
    final: int = 0
    warned: int = 0


class Node(NamedTuple):
    """Node 0 or 1."""

    is_up: bool = True
    received: int = 0
    buffer: int = 0  # its outbound buffer, which is durable
    log: tuple[int, ...] = ()


class State(NamedTuple):
    """A state of the model."""

    client: Publisher
    nodes: tuple[Node, ...]
    arrived: tuple[int, ...]  # at node 2, in order, with LATE added to flagged ones
    cut: int  # nodes that are cut off from node 2
    crashes: int  # left
    cuts: int  # left

    def with_node(self, i: int, node: Node, client: Publisher) -> State:
        _, nodes, arrived, cut, crashes, cuts = self
        return State(client, replaced(nodes, i, node), arrived, cut, crashes, cuts)

    def with_arrived(self, arrived: tuple[int, ...]) -> State:
        client, nodes, _, cut, crashes, cuts = self
        return State(client, nodes, arrived, cut, crashes, cuts)


Change = tuple[str, State]


class PublishModel:
    """A publisher of MESSAGES messages that makes `visits` - 1 moves, with or without a rule."""

    def __init__(self, has_rule: bool = True, visits: int = 3, crashes: int = 1, cuts: int = 2) -> None:
        self.has_rule, self.visits = has_rule, visits
        self.first = State(Publisher(), (Node(), Node()), (), 0, crashes, cuts)

    def steps(self, state: State) -> Iterator[Change]:
        client = state.client
        for i, node in enumerate(state.nodes):
            if not node.is_up:
                yield f"{i} restarts", state.with_node(i, Node(True, 0, node.buffer, node.log), client)
                continue
            if state.crashes:
                lost = client._replace(at=-1) if client.at == i else client
                down = state.with_node(i, Node(False, 0, node.buffer, node.log), lost)
                yield f"{i} crashes", down._replace(crashes=state.crashes - 1)
            if client.at != i and client.visits < self.visits:
                visitor = Publisher(i, client.visits + 1, 0, client.final, client.warned)
                yield f"client visits {i}", state._replace(client=visitor)
            if state.cut & bit(i):
                yield f"{i} and 2 are linked again", state._replace(cut=state.cut & ~bit(i))
            elif state.cuts:
                yield f"{i} and 2 are cut", state._replace(cut=state.cut | bit(i), cuts=state.cuts - 1)
            yield from self._progress(state, i)

    def _progress(self, state: State, i: int) -> Iterator[Change]:
        """Yield the steps of node `i` that need neither a fault nor a visit."""
        node, client = state.nodes[i], state.client
        if client.at == i and (left := unanswered(NUMBERS, client.sent, client.final, client.warned)):
            number = lowest(left)
            after = Node(True, node.received | bit(number), node.buffer, node.log)
            at, visits, sent, final, warned = client
            sender = Publisher(at, visits, sent | bit(number), final, warned)
            yield f"client sends {number} to {i}", state.with_node(i, after, sender)
        is_linked = not state.cut & bit(i)
        if not self.has_rule:
            yield from _own_log(state, i, is_linked)
        elif is_linked and node.received | node.buffer:
            yield _to_master(state, i)
        elif not is_linked and node.received:
            number = next_to_store(node.received)
            stored = Node(True, node.received & ~bit(number), node.buffer | bit(number), node.log)
            if client.at == i:
                client = client._replace(warned=client.warned | bit(number))
            yield f"{i} stores {number}", state.with_node(i, stored, client)

    def violation(self, state: State) -> Violation | None:
        if self.has_rule and state.client.final & ~numbers_of(state.arrived):
            return Violation("S1", "a message is answered, and the master does not have it")
        return _disorder(state.arrived)

    def violation_at_rest(self, state: State) -> Violation | None:
        """Return a violation if a message or an answer is missing once all nodes run and are linked."""
        client = state.client if state.client.at >= 0 else state.client._replace(at=0, sent=0)
        nodes = tuple(node if node.is_up else node._replace(is_up=True, received=0) for node in state.nodes)
        state = State(client, nodes, state.arrived, 0, 0, 0)
        for _ in range(REST):
            steps = (after for i in (0, 1) for _, after in self._progress(state, i))
            after = next(steps, None)
            if after is None:
                break
            state = after
            if violation := self.violation(state):
                return violation
        if numbers_of(state.arrived) != NUMBERS:
            return Violation("S6", f"only {state.arrived} arrived")
        return None if state.client.final == NUMBERS else Violation("S6", "the client lacks an answer")


# --- parts of steps -----------------------------------------------------------------------------------------


@cache  # few different arguments
def numbers_of(arrived: tuple[int, ...]) -> int:
    """Return the set of the numbers that have arrived."""
    return sum({bit(entry % LATE) for entry in arrived})


@cache
def _disorder(arrived: tuple[int, ...]) -> Violation | None:
    """Return a violation if a message arrived twice, or out of order without the flag."""
    if numbers_of(arrived).bit_count() != len(arrived):
        return Violation("S3", "a message is accepted twice")
    plain = [entry for entry in arrived if entry < LATE]
    return Violation("S2", f"received as {plain}") if plain != sorted(plain) else None


def _answered(client: Publisher, i: int, number: int) -> Publisher:
    """Return the publisher after node `i` has answered a number, if it was sent on this connection."""
    if client.at != i or not client.sent & bit(number):
        return client
    return client._replace(final=client.final | bit(number))


def _own_log(state: State, i: int, is_linked: bool) -> Iterator[Change]:
    """Yield how node `i` accepts and delivers messages as their master."""
    node = state.nodes[i]
    if node.received:
        number = lowest(node.received)
        log = node.log if number in node.log else (*node.log, number)
        after = Node(True, node.received & ~bit(number), node.buffer, log)
        yield f"{i} accepts {number}", state.with_node(i, after, _answered(state.client, i, number))
    arrived = numbers_of(state.arrived)
    left = [number for number in node.log if not arrived & bit(number)] if is_linked else []
    if left:
        entry = left[0] + LATE if is_flagged(left[0], arrived) else left[0]
        yield f"{i} delivers {left[0]}", state.with_arrived((*state.arrived, entry))


def _to_master(state: State, i: int) -> Change:
    """Return how node 2 accepts the next message of node `i`, or answers it as a repeat."""
    node = state.nodes[i]
    number = lowest(node.received | node.buffer)
    if is_accepted(number, numbers_of(state.arrived)):
        return f"2 accepts {number} from {i}", state.with_arrived((*state.arrived, number))
    answered = Node(True, node.received & ~bit(number), node.buffer & ~bit(number), node.log)
    after = state.with_node(i, answered, _answered(state.client, i, number))
    arrived = after_repeat(state.arrived, number)
    return f"2 answers {number} to {i}", after if arrived is state.arrived else after.with_arrived(arrived)


# --- places for planted mistakes ----------------------------------------------------------------------------


def is_flagged(number: int, arrived: int) -> bool:
    """Return whether a message that arrives after the numbers `arrived` is flagged as late."""
    return number_verdict(number, arrived) is Verdict.LATE


def after_repeat(arrived: tuple[int, ...], number: int) -> tuple[int, ...]:
    """Return the numbers at the master after a repeat, which adds none."""
    return arrived


def next_to_store(received: int) -> int:
    """Return the message that a node without a link stores in its outbound buffer first."""
    return lowest(received)
