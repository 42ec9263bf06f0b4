"""Invariants of the model of visits.

S1 an answered message leaves its master's log only after the application has it, or as a gap that is reported
S2 the application receives the messages of a publisher in order
S3 the application receives no message twice
S4 only the node of the client's present attach number delivers to the application
S5 a node that was notified of the move does not give the session up by itself
S6 at rest: each answered message was received or reported as a gap; one node has the session; no former node,
   no resume feed and no held message is left

S2 to S5 are violated by a step, so the step checks them.
"""

from __future__ import annotations

from tools.models.bits import lowest, up_to
from tools.models.search import Violation
from tools.models.sessions.visits.state import State


def lost_message(state: State) -> Violation | None:
    """Return a violation if a master deleted a message that the application does not have."""
    for i, (log, received) in enumerate(zip(state.logs, state.client.received, strict=True)):
        if lost := log.deleted & ~received:
            return Violation("S1", f"master {i} deleted {lowest(lost)}, which the application does not have")
    return None


def unfinished(state: State) -> Violation | None:
    """Return the violation of S6 in a state from which no step is left."""
    client = state.client
    for i, log in enumerate(state.logs):
        if missed := up_to(log.length) & ~client.received[i] & ~client.gaps[i]:
            return Violation("S6", f"{lowest(missed)} of master {i} was neither received nor reported")
        if log.resume:
            return Violation("S6", "a resume feed is left")
        if log.deleted != up_to(log.length):
            return Violation("S6", "a settled message is left")
    places = [n for n, node in enumerate(state.nodes) if node.attach]
    if places != [client.at]:
        return Violation("S6", f"the session is at {places}")
    if client.former or any(feed.held for node in state.nodes for feed in node.feeds):
        return Violation("S6", "a former node is left")
    return None
