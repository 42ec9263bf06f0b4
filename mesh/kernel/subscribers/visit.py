"""The state of a visit at the visited node."""

from __future__ import annotations

from collections.abc import Hashable, Set
from dataclasses import dataclass, field

from mesh.kernel.context.disk import Disk
from mesh.kernel.context.incoming_call import IncomingCall
from mesh.kernel.subscribers.session import UNKNOWN, Session
from mesh.routing.aside import drop_master
from mesh.routing.log import position_key
from mesh.wire.calls import AskAttach
from mesh.wire.calls.sessions import Counts
from mesh.wire.commands import Certificate


@dataclass(slots=True, eq=False)
class Visit:
    """A session that came from other nodes, until these are released."""

    session: Session
    certificate: Certificate
    former: dict[bytes, set[bytes]]  # by node: masters for which it is released
    received: dict[bytes, Counts]  # by node: items of each subscription that the client has
    reported: set[bytes] = field(default_factory=set)  # former nodes whose gap is known
    asking: set[bytes] = field(default_factory=set)  # former nodes with an open question
    informed: set[bytes] = field(default_factory=set)  # former nodes that have answered
    again_at: float = 0.0
    call: IncomingCall[AskAttach] | None = None  # answered when all are released

    def report_gaps(self, uuid: bytes, gaps: Counts) -> None:
        """Report to the client, once, the messages that a former node dropped."""
        if uuid not in self.reported:
            self.reported.add(uuid)
            self.session.report_gaps(gaps)

    def report_lost(self, uuid: bytes) -> None:
        """Report a gap of unknown size in the subscriptions that were at a node which has ended."""
        self.report_gaps(uuid, [(number, UNKNOWN) for number, _ in self.received.get(uuid, [])])


def settle_master(session: Session, master: bytes, me: bytes, disk: Disk) -> None:
    """Settle the messages of a master that a former node, with the id `me`, holds for a session."""
    for feed in session.feeds.values():
        feed.restart()
        drop_master(feed, master)
        if master == me:
            feed.position = max(feed.position, disk.shelf.next_position - 1)
            disk.later("position", feed.key, position_key(feed, feed.position))


def is_released(masters: Set[Hashable], named: Set[Hashable], is_last: bool) -> bool:
    """Return whether a former node closes a session with messages of `masters`.

    The new node has named these masters, and `is_last` if it knows of no other.
    """
    return is_last and masters <= named
