"""The events of nodes that come, go, move or restart."""

import pytest

from mesh.discovery.member import (
    Conflict,
    Dead,
    Joined,
    Left,
    Member,
    Moved,
    Node,
    NodeLife,
    Restarted,
    Suspected,
    SuspicionRefuted,
)
from mesh.kernel.peers.changes import EVENTS, TOLD
from mesh.kernel.peers.facts import Lived
from mesh.kernel.peers.reach_table import ReachEvent
from tests.simulation import SimNetwork

M = Member(Node(b"h" * 16, "heron", 7, "tcp://10.0.0.1:1"), "mdns", NodeLife.ALIVE, 0.0)
SAID: list[tuple[Lived, str]] = [
    (Joined(M), "joined: heron (boot 7) at tcp://10.0.0.1:1, found by mdns"),
    (Restarted(M, 6), "restarted: heron is a new process (boot 7)"),
    (Moved(M, ""), "moved: heron moved to tcp://10.0.0.1:1"),
    (Suspected(M), "suspect: heron does not answer"),
    (SuspicionRefuted(M), "alive: heron answers again"),
    (Dead(M), "dead: heron (boot 7) is dead: no answer"),
    (Left(M), "left: heron (boot 7) left"),
    (Conflict(M), "conflict: two processes answer for heron: its data directory may be a copy"),
]


@pytest.mark.parametrize(("lived", "text"), SAID)
def test_each_change_has_its_words(lived: Lived, text: str) -> None:
    node = SimNetwork().node("a")
    peer = node.core.parts.neighbours.directory.get_or_add(M.uuid, "heron")
    if not isinstance(lived, Joined):
        node.core.parts.neighbours._changes.react(peer, Joined(M), 7)
    node.core.parts.neighbours._changes.react(peer, lived, 7)
    notes = [effect.text for effect in node.core.parts.context.out.effects if hasattr(effect, "text")]
    assert text in notes


def test_all_changes_but_sightings_are_told() -> None:
    assert set(TOLD) == {*EVENTS.values(), ReachEvent.SAID_TO_LEAVE} - {ReachEvent.SIGHTED}
    assert TOLD[ReachEvent.SAID_TO_LEAVE] == TOLD[ReachEvent.SAID_GOODBYE]
    loud = {event for event, (_, level, _) in TOLD.items() if level == "warning"}
    assert loud == {ReachEvent.SUSPECTED, ReachEvent.DIED, ReachEvent.DOUBLED}
