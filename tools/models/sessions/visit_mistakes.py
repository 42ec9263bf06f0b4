"""Mistakes for the model of visits."""

from __future__ import annotations

from tools.models.bits import bit, highest, up_to
from tools.models.planting import Mistake
from tools.models.sessions.rules import Verdict
from tools.models.sessions.visits import (
    faults,
    model,
    node_and_client,
    node_and_former,
    node_and_master,
    settling,
    visit,
)
from tools.models.sessions.visits.node_and_former import confirmed
from tools.models.sessions.visits.state import (
    NOTHING,
    Feed,
    Limits,
    Log,
    Node,
    Resume,
    State,
    is_client_at,
    is_linked,
    left_to_resume,
    superseded,
    with_log,
    without_settled,
)


def owed_to_previous(log: Log, i: int, node: Node) -> tuple[int, int]:
    """Return the range that the master still owes to the node that the client left."""
    end, last = log.length, node.previous
    if not log.receivers >> last & 1:
        return end + 1, end
    return max(node.feeds[i].since, log.settled[last] + 1), end


def settled_by_notice(node: Node, attach: int) -> Node:
    """Return the node after it has learned of a visit elsewhere, and has dropped what it held."""
    node = superseded(node, attach)
    if not node.attach:
        return node
    return node._replace(attach=0, feeds=tuple(feed._replace(queue=0, held=0) for feed in node.feeds))


def confirmed_by_one(node: Node, every: int) -> int:
    return every if confirmed(node, every) else 0


def not_received(log: Log, resume: Resume, feed: Feed) -> int:
    """Return the rest of a resume feed above the last position that the ordinary feed has passed."""
    return left_to_resume(log, resume, feed) & ~up_to(feed.received)


def without_resume(log: Log) -> Log:
    return without_settled(log._replace(resume=None))


def resumes_dropped(limits: Limits, state: State, f: int, released: int) -> State:
    """Return the state after a former node has ended the resume feeds of all `released` masters."""
    for i, m in enumerate(limits.masters):
        if released >> i & 1 and state.logs[i].resume and is_linked(state, f, m):
            state = with_log(state, i, state.logs[i]._replace(resume=None))
    return state


def highest_cursor(received: tuple[int, ...]) -> tuple[int, ...]:
    return (max(map(highest, received)),) * len(received)


VISIT_MISTAKES = {
    "attach is not compared": Mistake(
        "one master", ((node_and_master, "is_outdated", lambda attach, known: False),)
    ),
    "since is ignored": Mistake(
        "one master", ((node_and_master, "resumed_range", lambda since, end: (end + 1, end)),)
    ),
    "only what the last node is owed": Mistake(
        "one master",
        (
            (visit, "previous_node", lambda client: client.last),
            (node_and_master, "offered", owed_to_previous),
        ),
    ),
    "settles before the client has it": Mistake(
        "one master", ((settling, "settled_position", lambda received, held: received),)
    ),
    "settles when it learns of the move": Mistake(
        "the home is master",
        (
            (node_and_master, "superseded", settled_by_notice),
            (node_and_former, "superseded", settled_by_notice),
        ),
    ),
    "released after one master": Mistake("two masters", ((node_and_former, "confirmed", confirmed_by_one),)),
    "interest counts from later than the end": Mistake(
        "one master", ((node_and_master, "last_kept", lambda end, is_new: end - 1 if is_new else end),)
    ),
    "new messages overtake resumed ones": Mistake(
        "one master", ((node_and_client, "deliverable", lambda resumed, held, is_complete: resumed | held),)
    ),
    "resumed items count as repeats of the link": Mistake(
        "other subscribers", ((node_and_master, "resumable", not_received),)
    ),
    "client forgets what it had": Mistake(
        "one master", ((node_and_client, "number_verdict", lambda number, accepted: Verdict.NEW),)
    ),
    "only the last node is named": Mistake(
        "one master", ((visit, "former_nodes", lambda former, last, visited: bit(last) & ~bit(visited)),)
    ),
    "one position for all masters": Mistake("two masters", ((visit, "cursors", highest_cursor),)),
    "resume feed is not durable": Mistake("one master", ((faults, "log_after", without_resume),)),
    "a former node drops any resume feed": Mistake(
        "one master", ((node_and_former, "after_release", resumes_dropped),)
    ),
    "client reads an old connection": Mistake(
        "one master",
        ((model, "reads", lambda state, n: is_client_at(state, n) or state.nodes[n].is_connected),),
    ),
    "moved_to is not persisted": Mistake("given up", ((faults, "known_after", lambda node: node.attach),)),
    "no record of what was given up": Mistake("given up", ((visit, "LOSS_RECORD", NOTHING),)),
}
