"""Reports of nodes to masters that are not steps of their own: settled positions, and the end of an interest.

A report is immediate wherever there is a link. A late report equals an acknowledgement of the client that the
node has not read yet.
"""

from __future__ import annotations

from tools.models.bits import bit, replaced
from tools.models.sessions.rules import remaining_range, settled_position
from tools.models.sessions.visits.state import (
    COMPLETE,
    LINK,
    RESUMING,
    Feed,
    Limits,
    Log,
    Node,
    Resume,
    State,
    left_to_resume,
    with_feed,
    with_log,
)


def settled(limits: Limits, state: State) -> State:
    """Return the state after all reports over the present links."""
    nodes, cut = state.nodes, state.cut_links
    for n, node in enumerate(nodes):
        if not node.is_up:
            continue
        links = LINK[n]
        for i, m in enumerate(limits.masters):
            if cut & links[m] or not nodes[m].is_up:
                continue
            feed = state.nodes[n].feeds[i]
            log = _reported(limits, state.logs[i], i, n, node, feed)
            if log is not state.logs[i]:
                state = with_log(state, i, log)
            if feed.phase == RESUMING and _is_complete(state.logs[i], node, feed):
                state = with_feed(state, n, i, feed._replace(phase=COMPLETE))
    return state


def _reported(limits: Limits, log: Log, i: int, n: int, node: Node, feed: Feed) -> Log:
    """Return the log after the report of a node to the master at index `i`."""
    resume = log.resume
    if resume is not None and resume.node == n and resume.attach == node.attach:
        log = _acknowledged(log, resume, feed)
    if not log.receivers >> n & 1:
        return log
    position = settled_position(feed.received, feed.held)
    if position > log.settled[n]:
        log = log._replace(settled=replaced(log.settled, n, position))
    if (not node.attach or node.released >> i & 1) and not limits.others >> n & 1:
        log = log._replace(receivers=log.receivers & ~bit(n))
    return log


def _acknowledged(log: Log, resume: Resume, feed: Feed) -> Log:
    left = remaining_range(resume.first, resume.last, feed.acknowledged | log.deleted)
    if left is None:
        return log._replace(resume=None)
    return log if left[0] == resume.first else log._replace(resume=resume._replace(first=left[0]))


def _is_complete(log: Log, node: Node, feed: Feed) -> bool:
    """Return whether the node has received the whole resume feed."""
    resume = log.resume
    if resume is None or node.attach != node.known:
        return node.attach == node.known
    return resume.attach == node.attach and not left_to_resume(log, resume, feed)
