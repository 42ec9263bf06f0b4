"""The state of the model of visits, and changes of parts of it.

A set of positions, nodes or masters has bits (`bits.py`). A node is an index into `State.nodes`, a master an
index into `Limits.masters`. The logs, feeds and cursors are in the order of `Limits.masters`.
"""

# Law 1: a log has no position that it owes to no node; `with_log` deletes it.

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from tools.models.bits import between, up_to

NODES = 3
PAIRS = {(0, 1): 1, (0, 2): 2, (1, 2): 4}  # bits of `State.cut_links`
LINK = ((0, 1, 2), (1, 0, 4), (2, 4, 0))  # the same, by both nodes; 0: to itself
MEMBERS = tuple(tuple(n for n in range(NODES) if mask >> n & 1) for mask in range(1 << NODES))
ASKING, RESUMING, COMPLETE = range(3)  # phases of a feed
NOTHING, GIVEN_UP, REPORTED = range(3)  # values of `Node.loss`


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of a scenario."""

    masters: tuple[int, ...] = (2,)  # nodes with a log
    messages: tuple[int, ...] = (2,)  # of each master
    visits: int = 3  # highest attach number
    crashes: int = 1
    cuts: int = 1
    others: int = 0  # nodes with another subscriber, which takes everything at once
    has_linger: bool = False  # whether sessions are given up

    @property
    def all_masters(self) -> int:
        return (1 << len(self.masters)) - 1


class Feed(NamedTuple):
    """The feeds from one master to a node, for the session. A crash loses them."""

    phase: int = ASKING
    end: int = 0  # last position of the master when it accepted the resume
    since: int = 0  # cursor that the client named
    resumed: int = 0  # last position received by the resume feed
    queue: int = 0  # unacknowledged positions of the resume feed
    held: int = 0  # unacknowledged positions of the ordinary feed
    received: int = 0  # last position received by the ordinary feed
    acknowledged: int = 0
    sent: int = 0


class Node(NamedTuple):
    """A node. The fields from `is_connected` on are lost in a crash."""

    is_up: bool
    known: int  # highest attach number that the node knows
    attach: int  # for which it acts or holds; 0: it has no session
    loss: int  # whether it has given the session up, and a newer node knows
    is_notified: bool  # of a visit elsewhere
    released: int  # masters for which it is released
    is_connected: bool  # a connection of the client is open here, perhaps an old one
    former: int  # former nodes that it has to release
    has_gap: bool  # to report to the client
    previous: int  # node that the client came from; 0, unless a planted mistake needs it
    feeds: tuple[Feed, ...]


class Resume(NamedTuple):
    """A resume feed of a master, which is durable."""

    attach: int
    node: int
    first: int
    last: int


class Log(NamedTuple):
    """The log of a master."""

    length: int
    deleted: int  # set of positions
    receivers: int  # nodes with an ordinary feed
    start: tuple[int, ...]  # by node: position above which its ordinary feed counts
    settled: tuple[int, ...]  # by node, at least `start`
    resume: Resume | None


class Client(NamedTuple):
    """The client with its application."""

    at: int  # -1: not connected
    attach: int
    former: int
    received: tuple[int, ...]
    gaps: tuple[int, ...]  # positions of which a gap was reported
    last: int  # node that it visited last


class State(NamedTuple):
    """A state of the model."""

    nodes: tuple[Node, ...]
    logs: tuple[Log, ...]
    client: Client
    cut_clients: int  # nodes that the client cannot reach
    cut_links: int
    crashes: int  # left
    cuts: int  # left


def first_state(limits: Limits) -> State:
    """Return the state in which the client is connected to node 0, its home, and has received nothing."""
    count = len(limits.masters)
    idle = Node(True, 0, 0, NOTHING, False, 0, False, 0, False, 0, (Feed(),) * count)
    home = idle._replace(known=1, attach=1, is_connected=True, feeds=(Feed(COMPLETE),) * count)
    log = Log(0, 0, 1 | limits.others, (0,) * NODES, (0,) * NODES, None)
    client = Client(0, 1, 0, (0,) * count, (0,) * count, 0)
    return State((home, idle, idle), (log,) * count, client, 0, 0, limits.crashes, limits.cuts)


# --- questions ----------------------------------------------------------------------------------------------


def is_linked(state: State, a: int, b: int) -> bool:
    nodes = state.nodes
    return nodes[a].is_up and nodes[b].is_up and not state.cut_links & LINK[a][b]


def is_current(node: Node) -> bool:
    """Return whether the node acts for the session, as far as it knows."""
    return node.is_up and node.attach != 0 and node.attach == node.known


def is_client_at(state: State, n: int) -> bool:
    client = state.client
    return client.at == n and state.nodes[n].attach == client.attach


def resume_of(log: Log, n: int, node: Node) -> Resume | None:
    """Return the resume feed that the master has for this node."""
    resume = log.resume
    return resume if resume is not None and resume.node == n and resume.attach == node.attach else None


def left_to_resume(log: Log, resume: Resume, feed: Feed) -> int:
    """Return the positions of a resume feed that the node has not received."""
    return ~log.deleted & between(max(feed.resumed + 1, resume.first), resume.last)


def left_to_send(log: Log, n: int, feed: Feed) -> int:
    """Return the positions of the ordinary feed that the node has not received."""
    first = max(feed.received, log.settled[n]) + 1
    return ~log.deleted & between(first, log.length) if first <= log.length else 0


# --- changes ------------------------------------------------------------------------------------------------


def with_node(state: State, n: int, node: Node) -> State:
    nodes, logs, client, cut_clients, cut_links, crashes, cuts = state
    return State((*nodes[:n], node, *nodes[n + 1 :]), logs, client, cut_clients, cut_links, crashes, cuts)


def with_feed(state: State, n: int, i: int, feed: Feed) -> State:
    node = state.nodes[n]
    feeds = node.feeds
    return with_node(state, n, Node._make((*node[:-1], (*feeds[:i], feed, *feeds[i + 1 :]))))


def with_log(state: State, i: int, log: Log) -> State:
    nodes, logs, client, cut_clients, cut_links, crashes, cuts = state
    after = (*logs[:i], without_settled(log), *logs[i + 1 :])
    return State(nodes, after, client, cut_clients, cut_links, crashes, cuts)


def with_client(state: State, client: Client) -> State:
    nodes, logs, _, cut_clients, cut_links, crashes, cuts = state
    return State(nodes, logs, client, cut_clients, cut_links, crashes, cuts)


def without_settled(log: Log) -> Log:
    """Return the log after the master has deleted the positions that it owes to no node."""
    length, deleted, receivers, start, settled, resume = log
    done = up_to(min([length, *[settled[n] for n in MEMBERS[receivers]]]))
    if resume is not None:
        done &= ~between(resume.first, resume.last)
    return log if not done & ~deleted else Log(length, deleted | done, receivers, start, settled, resume)


def superseded(node: Node, attach: int) -> Node:
    """Return the node after it has learned of a visit elsewhere. It goes on holding what it has received."""
    loss = min(node.loss, GIVEN_UP)  # the newer node has to learn of it, too
    return node._replace(known=attach, is_notified=True, is_connected=False, loss=loss)
