"""What happens when two sites have set one topic? The value that lost is kept, and told."""

from __future__ import annotations

from collections import OrderedDict
from hashlib import blake2b
from typing import TypeVar

from msgspec.structs import replace

from mesh.core.delivery.router import Router
from mesh.core.desk.desk import Desk
from mesh.core.desk.part import Part
from mesh.core.sites.lostvalue import LostValue, letter_of
from mesh.core.sites.marking import Marking
from mesh.core.sites.relaying import Relaying
from mesh.patterns import SYSTEM
from mesh.routing.last import Last, last_values
from mesh.sites.conflicts import conflict_key
from mesh.sites.hops import is_of
from mesh.wire.envelope import ERASED, INITIAL, Envelope

T = TypeVar("T")
KNOWN = 10_000  # topics of which it is remembered what of other sites stood there
A_SECOND, AT_ONCE = 50.0, 200.0  # that are kept; the others are counted
TOLD_AGAIN = 60.0  # s until people are told again

# Law 1: what came late, and is older than what another site has said meanwhile, has lost, unless that one
#        knew it already.
# Law 2: which of them stays is decided elsewhere, as at all sites (see `mesh.sites.conflicts`). While a topic
#        has publishers of one site nothing is looked at.
# Law 3: where a topic has no master that all know, a gateway is that of what comes in, and remembers of what
#        has left by it no more than which value that was.
# Law 4: who sets topics against each other as fast as he can has no more kept, nor told, than a bound.


class Conflicting(Part):
    """The face of it, at each master."""

    def __init__(self, desk: Desk, router: Router, relaying: Relaying, marking: Marking) -> None:
        self._desk = desk
        self._router = router
        self._relaying = relaying
        self._marking = marking
        self._here = desk.settings.site
        own = desk.me.uuid + desk.me.boot.to_bytes(8) + b"conflicts"
        self._stream = blake2b(own, key=desk.settings.secret[:64], digest_size=16).digest()
        self._number = 0
        # (site, key, domain) -> the stamp of its value that was known when another site's took its place
        self._stood: OrderedDict[tuple[str, str, str], int] = OrderedDict()
        self._since = 0  # and that is known of what is newer than this
        # Of topics without a master: what has left by this node, without contents, and when others last came.
        self._left: OrderedDict[tuple[str, str], Last] = OrderedDict()
        self._arrived: OrderedDict[tuple[str, str], int] = OrderedDict()
        self._lost: list[LostValue] = []
        self._room = AT_ONCE
        self._filled = 0.0
        self._count = self._untold = 0
        self._told = float("-inf")

    def resumed(self) -> None:
        self._since = self._desk.wall

    def figures(self) -> dict[str, int | float]:
        return {"site_conflicts": self._count}

    # --- finding ----------------------------------------------------------------------------------------

    def met(self, came: Last, stood: Last, stays: bool) -> None:
        """Two values of one topic met here, and that is which stays."""
        if came.key.startswith(SYSTEM) or came.site(self._here) == stood.site(self._here):
            return
        if stays:
            self._outdone(came, stood)
            return
        if self._was_lacking(stood, came):
            self._add(LostValue(stood, came))
        self._knows(stood)

    def leaves(self, envelope: Envelope) -> None:
        """It goes to another site by this node."""
        if envelope.to or not is_of(self._here, envelope.sender) or envelope.flags & (INITIAL | ERASED):
            return
        for value in last_values(_outline(envelope)):
            topic = value.key, envelope.domain
            before = self._left.get(topic)
            if before is None or value.is_newer_than(before, self._here):
                _remember(self._left, topic, value)
            stood = self._router.log.retained.get(*topic)
            # Its publisher's node had not heard of what came in since.
            if stood is not None and value.envelope.sent < self._arrived.get(topic, 0):
                self._differ(stood, value)

    def came(self, envelope: Envelope) -> None:
        """It was published in another site, and this node is its master here."""
        if envelope.to or envelope.flags & (INITIAL | ERASED):
            return
        # Who hears it stamps later than this what follows; but that is not ahead, after a leap of our clock.
        at = min(envelope.route[-1].at, self._desk.wall)
        self._desk.heard_stamp(at)
        for value in last_values(envelope):
            topic = value.key, envelope.domain
            _remember(self._arrived, topic, at)
            if left := self._left.get(topic):
                self._differ(value, left)

    def _differ(self, value: Last, left: Last) -> None:
        """It has lost against one that leaves, or has left, if that is of another site and newer."""
        if value.site(self._here) != left.site(self._here) and left.is_newer_than(value, self._here):
            self._outdone(value, left)

    def transferred(self, came: Last, stands: Last) -> None:
        """Another site transfers what is older. It may have come before, and be known to its winner: of what
        is as old as this process nobody can tell.
        """
        is_told = came.envelope.sent > self._since and came.site(self._here) != stands.site(self._here)
        if is_told:
            self._outdone(came, stands)

    def _outdone(self, came: Last, stands: Last) -> None:
        """It is older than what stands there."""
        if came.envelope.sent > self._stood.get(self._topic(came), 0):
            self._add(LostValue(came, stands))
            self._knows(came)

    def _knows(self, value: Last) -> None:
        topic = self._topic(value)
        self._stood[topic] = max(value.envelope.sent, self._stood.pop(topic, 0))
        if len(self._stood) > KNOWN:
            self._since = max(self._since, self._stood.popitem(last=False)[1])

    def _topic(self, value: Last) -> tuple[str, str, str]:
        return value.site(self._here), value.key, value.envelope.domain

    def _was_lacking(self, own: Last, theirs: Last) -> bool:
        """Did what stood here, and was for that site, find no room on its way there, perhaps?"""
        site, since = theirs.site(self._here), self._marking.since(theirs.site(self._here))
        if own.site(self._here) != self._here or since is None or own.envelope.sent < since:
            return False
        return site in self._relaying.names(own.key, own.envelope.domain)

    # --- keeping ----------------------------------------------------------------------------------------

    def _add(self, lost: LostValue) -> None:
        self._count += 1
        self._room = min(AT_ONCE, self._room + A_SECOND * (self._desk.now - self._filled))
        self._filled = self._desk.now
        if self._room < 1.0:
            self._untold += 1
            return
        self._room -= 1.0
        self._lost.append(lost)
        self._desk.ending[self._say] = None

    def _say(self) -> None:
        lost, self._lost = self._lost, []
        for each in lost:
            self._keep(each)
        if self._desk.now >= self._told + TOLD_AGAIN:
            self._told = self._desk.now
            self._desk.event("site", self._text(lost[-1]), level="warning")

    def _text(self, lost: LostValue) -> str:
        topic = lost.value.key
        sites = f"{lost.value.site(self._here)} and {lost.winner.site(self._here)}"
        where = conflict_key(topic, lost.value.envelope.domain)
        more = f"; {self._count:,} such values by now" if self._count > 1 else ""
        unkept = f", of which {self._untold:,} were too many to be kept" if self._untold else ""
        return f"{sites} have both set {topic!r}: the older value is kept as {where!r}{more}{unkept}"

    def _keep(self, lost: LostValue) -> None:
        self._number += 1
        key, domain = lost.value.key, lost.value.envelope.domain
        letter = letter_of(lost, self._here)
        envelope = letter.envelope(
            self._stream, self._number, conflict_key(key, domain), "", self._desk.me.name
        )
        self._router.publish(self._stream, envelope, lambda answer: None)


def _outline(envelope: Envelope) -> Envelope:
    """Which messages it holds, without what is in them: as little is kept of each as can be."""
    return replace(envelope, sizes=0, body=b"", props=0, route=(), xml="")


def _remember(table: OrderedDict[tuple[str, str], T], topic: tuple[str, str], what: T) -> None:
    """As the newest of KNOWN."""
    table.pop(topic, None)
    table[topic] = what
    if len(table) > KNOWN:
        table.popitem(last=False)
