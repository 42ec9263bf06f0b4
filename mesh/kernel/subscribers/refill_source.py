"""The parent's side of a refill: the part of the master's log that a slave may have missed."""

# Law 1: the master pins the part, before it answers, until all subscribers behind the slave have it, or for
#        KEPT seconds after the last question.
# Law 2: a parent that is not the master asks the next hop of its own route, and selects what its slave wants.
# Law 3: a pin belongs to the slave and its number, which only nodes on the slave's routes know.

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import msgspec

from mesh.errors import LocalError, MeshError
from mesh.kernel.context.component import Beginning, Component
from mesh.kernel.context.disk import Disk
from mesh.kernel.context.incoming_call import IncomingCall, Verb, answer
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.delivery.router import Router
from mesh.kernel.peers.peer import Peer
from mesh.kernel.routes.nodes import Nodes
from mesh.kernel.routes.peer_calls import PeerCalls, Replies
from mesh.kernel.routes.strata import LiveStrata
from mesh.operations import Delete, Put, Span
from mesh.routing.peerfeed import PeerFeed
from mesh.wire.calls import AskRefill
from mesh.wire.codec import pack, reader
from mesh.wire.envelope import LOCAL_ONLY, TAILED, Envelope
from mesh.wire.frames import body_frames
from mesh.wire.limits import ENVELOPES_A_MESSAGE, HOPS, MIB
from mesh.wire.replies import Refilled

KEPT = 3600.0  # s after which an unused pin ends
PINS = 10_000
PAGE = ENVELOPES_A_MESSAGE  # envelopes of one read, and of one reply
READS = 16  # reads for one reply without a match
PREFIX = b"s"  # of the keys of pins, in the table of feeds
DOMAIN_AT = 25  # in a key, after the prefix, the slave's id and the number

Refill = IncomingCall[AskRefill]


class RefillRow(msgspec.Struct, frozen=True, array_like=True):
    """The stored form of a pin."""

    first: int
    last: int


_read_row = reader(RefillRow, 1024)


@dataclass(slots=True)
class RefillPin:
    """A pinned part of the log, for one slave and one domain."""

    first: int
    last: int
    used: float  # time of the last question


def pin_key(slave: bytes, number: int, domain: str) -> bytes:
    """Return the key of the pin for a refill of a slave."""
    return PREFIX + slave + number.to_bytes(8) + domain.encode()


class RefillSource(Component):
    """Component that answers `refill`, as the master or by asking the next hop."""

    def __init__(
        self,
        context: NodeContext,
        disk: Disk,
        router: Router,
        nodes: Nodes,
        questions: PeerCalls,
        strata: LiveStrata,
        peers: dict[bytes, Peer],
    ) -> None:
        self._context = context
        self._disk = disk
        self._router = router
        self._nodes = nodes
        self._questions = questions
        self._strata = strata
        self._peers = peers
        self._pins: dict[bytes, RefillPin] = {}

    def peer_verbs(self) -> tuple[Verb, ...]:
        return (answer(AskRefill, self._on_refill),)

    def figures(self) -> dict[str, int | float]:
        return {"refill_pins": len(self._pins)}

    def start(self, beginning: Beginning) -> None:
        """Restore the pins before the log, whose unowed envelopes would be deleted otherwise."""
        for key, row in beginning.rows("feed").items():
            if key[:1] == PREFIX:
                known = _read_row(row)
                self._pins[key] = RefillPin(known.first, known.last, self._context.clock.now)
                self._disk.shelf.pins.pin(key, known.first, known.last)

    def on_second(self) -> None:
        oldest = self._context.clock.now - KEPT
        for key in [key for key, pin in self._pins.items() if pin.used < oldest]:
            self._end(key)

    def _on_refill(self, asked: Refill) -> None:
        ask, me = asked.ask, self._context.me
        pin = self._pins.get(pin_key(ask.slave, ask.number, ask.domain))
        if pin is not None and pin.last == ask.end:  # also if the rules name another master now
            self._continue(asked)
            return
        own = self._strata.own.get(ask.domain)
        if own is None or not own.way or me.name in ask.visited or len(ask.visited) >= HOPS:
            raise LocalError(f"{me.name} has no route to a master of {ask.domain}.", code="MASTER_AWAY")
        if len(own.way) > 1:
            self._pass_on(asked, own.way[1])
        elif not ask.end:
            self._begin(asked)
        else:
            self._continue(asked)

    # --- relays -----------------------------------------------------------------------------------------

    def _pass_on(self, asked: Refill, hop: str) -> None:
        peer, ask = self._nodes.named(hop), asked.ask
        if peer is None or peer.data is None:
            raise LocalError(f"{hop} is not linked with {self._context.me.name}.", code="MASTER_AWAY")
        further = msgspec.structs.replace(ask, visited=[*ask.visited, self._context.me.name])
        came = partial(self._on_reply, asked, peer.node.uuid)
        self._questions.ask_all([peer], further, Refilled, came, ask.within, is_patient=True)

    def _on_reply(self, asked: Refill, uuid: bytes, replies: Replies[Refilled], missing: list[str]) -> None:
        reply = replies.get(uuid)
        if reply is None or reply.code:
            code = reply.code if reply is not None else "MASTER_AWAY"
            asked.fail(LocalError("The next hop refused to refill.", code=code))
            return
        page = reply.value
        found = zip(
            page.positions, (self._context.relayed(envelope) for envelope, _ in reply.found), strict=False
        )
        self._answer(asked, page.master, page.end, page.next, self._wanted(asked.who, found))

    def _wanted(self, peer: Peer, found: Iterator[tuple[int, Envelope]]) -> list[tuple[int, Envelope]]:
        cut = ((position, self._part(peer, envelope)) for position, envelope in found)
        return [(position, part) for position, part in cut if part is not None]

    def _part(self, peer: Peer, envelope: Envelope) -> Envelope | None:
        """Return the messages of an envelope that match the queries of the peer, or None."""
        if envelope.to or envelope.flags & (TAILED | LOCAL_ONLY):
            return None
        for feed, indices in self._router.peers.plan(envelope):
            if feed is peer.exchange.feed:
                return envelope if indices is None else envelope.cut(list(indices))
        return None

    def _answer(
        self, asked: Refill, master: bytes, end: int, following: int, found: list[tuple[int, Envelope]]
    ) -> None:
        positions, envelopes = [position for position, _ in found], [envelope for _, envelope in found]
        sources = [(self._context.me.name, None, master)] * len(found)
        page = Refilled(master=master, end=end, next=following, positions=positions, sources=list(sources))
        asked.reply(page, envelopes)

    # --- the master -------------------------------------------------------------------------------------

    def _begin(self, asked: Refill) -> None:
        """Pin the log from the slave's position to the last one, and return the first page."""
        ask, shelf = asked.ask, self._disk.shelf
        key, last = pin_key(ask.slave, ask.number, ask.domain), shelf.next_position - 1
        owed = self._first_owed(asked.who.exchange.feed, ask.former, last)
        first = ask.at or min([owed, *self._pinned_from(ask.domain)])
        if first > last or not shelf.live:
            self._end(key)
            self._disk.commit(
                (), lambda error: self._answer(asked, self._context.me.uuid, last, last + 1, [])
            )
            return
        if key not in self._pins and len(self._pins) >= PINS:
            raise LocalError(f"{self._context.me.name} has {PINS:,} pinned refills.", code="TOO_MANY")
        self._pins[key] = RefillPin(first, last, self._context.clock.now)
        shelf.pins.pin(key, first, last)
        row = Put("feed", key, pack(msgspec.to_builtins(RefillRow(first, last))))
        shelf.supersede((row,))

        def stored(error: MeshError | None) -> None:
            if isinstance(error, LocalError):
                asked.fail(error)
            elif error is None:
                self._read(asked, first, last)

        self._disk.commit((row,), stored)

    def _first_owed(self, feed: PeerFeed, former: bytes, last: int) -> int:
        """Return the first position that the former parent is owed for a query of the feed, or `last` + 1."""
        peer = self._peers.get(former)
        old = peer.begun.feed if peer is not None and peer.begun is not None else None
        begins = [old.queries[query] for query in feed.queries if query in old.queries] if old else []
        return max(old.position + 1, min(begins)) if old and begins else last + 1

    def _pinned_from(self, domain: str) -> Iterator[int]:
        """Yield the first positions that other slaves of a domain may have to pass on to theirs."""
        for key, pin in self._pins.items():
            if key[DOMAIN_AT:] == domain.encode():
                yield pin.first

    def _continue(self, asked: Refill) -> None:
        ask = asked.ask
        key = pin_key(ask.slave, ask.number, ask.domain)
        pin = self._pins.get(key)
        is_known = pin is not None and pin.last == ask.end
        if ask.done >= ask.end:  # there is no pin if nothing was missed
            if is_known:
                self._end(key)
            me = self._context.me.uuid
            self._disk.commit((), lambda error: self._answer(asked, me, ask.end, ask.end + 1, []))
        elif pin is None or not is_known:
            raise LocalError("The pinned part of the log is no longer known here.", code="UNKNOWN_PIN")
        else:
            pin.used = self._context.clock.now
            self._read(asked, max(ask.at, pin.first), pin.last)

    def _end(self, key: bytes) -> None:
        if self._pins.pop(key, None) is not None:
            self._disk.shelf.pins.pin(key, 1, 0)
            self._disk.later("feed", key, Delete("feed", key))

    def _read(self, asked: Refill, at: int, end: int, reads: int = READS) -> None:
        """Read the log from `at`, and answer with the messages that the asking node wants."""
        if at > end:
            self._answer(asked, self._context.me.uuid, end, end + 1, [])
        else:
            self._disk.fetch(Span(at, end, PAGE), partial(self._on_read, asked, end, reads))

    def _on_read(self, asked: Refill, end: int, reads: int, found: dict[int, Envelope] | MeshError) -> None:
        if isinstance(found, MeshError):
            return  # the store has failed, and the node stops
        following = end + 1 if len(found) < PAGE else max(found) + 1
        page, frames, size = list[tuple[int, Envelope]](), 0, 0
        for position, part in self._wanted(asked.who, iter(found.items())):
            frames, size = frames + 1 + body_frames(part), size + len(part.body)
            if page and (frames > 2 * ENVELOPES_A_MESSAGE or size > MIB):
                following = position
                break
            page.append((position, part))
        if not page and following <= end and reads > 1:
            self._read(asked, following, end, reads - 1)
        else:
            self._answer(asked, self._context.me.uuid, end, following, page)
