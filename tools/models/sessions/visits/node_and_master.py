"""Steps between a node and a master: the resume, the items of its feed, and those of the ordinary feed."""

from __future__ import annotations

from collections.abc import Iterator

from tools.models.bits import bit, lowest, replaced
from tools.models.sessions.rules import held_after_resume, is_covered, is_outdated, resumed_range
from tools.models.sessions.visits.state import (
    ASKING,
    COMPLETE,
    RESUMING,
    Feed,
    Limits,
    Log,
    Node,
    Resume,
    State,
    is_current,
    left_to_resume,
    left_to_send,
    resume_of,
    superseded,
    with_feed,
    with_log,
    with_node,
)

Change = tuple[str, State]


def node_and_master(limits: Limits, state: State, n: int, i: int) -> Iterator[Change]:
    """Yield the steps between node `n` and the master at index `i`, which are linked."""
    node, log, m = state.nodes[n], state.logs[i], limits.masters[i]
    feed = node.feeds[i]
    if is_current(node) and node.is_connected and feed.phase == ASKING:
        yield _resume(state, n, i, m)
    resume = resume_of(log, n, node) if feed.phase == RESUMING else None
    if resume and (left := resumable(log, resume, feed)):
        position = lowest(left)
        phase, end, since, _, queue, *rest = feed
        after = Feed(phase, end, since, position, queue | bit(position), *rest)
        yield f"{m} resumes {position} at {n}", with_feed(state, n, i, after)
    if log.receivers >> n & 1 and (left := left_to_send(log, n, feed)):
        holds = node.attach != 0 and not node.released >> i & 1
        if holds or limits.others >> n & 1:
            position = lowest(left)
            phase, end, since, resumed, queue, held, _, acknowledged, sent = feed
            if holds and not is_covered(position, end, phase != ASKING, node.attach == node.known):
                held |= bit(position)
            after = Feed(phase, end, since, resumed, queue, held, position, acknowledged, sent)
            yield f"{m} sends {position} to {n}", with_feed(state, n, i, after)


def _resume(state: State, n: int, i: int, m: int) -> Change:
    """Return the RESUME of node `n` at master `m`, which the master accepts or refuses, in one step."""
    node, log, master = state.nodes[n], state.logs[i], state.nodes[m]
    if is_outdated(node.attach, master.known):
        return f"{m} refuses to resume at {n}", with_node(state, n, superseded(node, master.known))
    first, end = offered(log, i, node)
    is_new = not log.receivers >> n & 1
    feed = node.feeds[i]
    after = Feed(
        phase=RESUMING if first <= end else COMPLETE,
        end=end,
        since=feed.since,
        queue=feed.queue,
        held=held_after_resume(feed.held, end),
        received=end if is_new else feed.received,
        acknowledged=feed.acknowledged,
        sent=feed.sent,
    )
    state = with_feed(state, n, i, after)
    if m != n and master.known < node.attach:  # the master learns of the move as well
        state = with_node(state, m, superseded(master, node.attach))
    resume = Resume(node.attach, n, first, last_kept(end, is_new))
    log = log._replace(resume=resume if first <= resume.last else None)
    if is_new:
        receivers, start, settled = (
            log.receivers | bit(n),
            replaced(log.start, n, end),
            replaced(log.settled, n, end),
        )
        log = log._replace(receivers=receivers, start=start, settled=settled)
    return f"{n} resumes at {m} from {first}", with_log(state, i, log)


# --- places for planted mistakes ----------------------------------------------------------------------------


def offered(log: Log, i: int, node: Node) -> tuple[int, int]:
    """Return the range that the master at index `i` resumes for a node."""
    return resumed_range(node.feeds[i].since, log.length)


def last_kept(end: int, is_new: bool) -> int:
    """Return the last position that the master keeps for the resume feed.

    With `is_new`, the ordinary feed of this node counts from here on.
    """
    return end


def resumable(log: Log, resume: Resume, feed: Feed) -> int:
    """Return the positions that the master sends by the resume feed."""
    return left_to_resume(log, resume, feed)
