"""Gossips node states: publishes our own, receives those of others, and offers all to clients."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from msgspec.structs import replace

from mesh.discovery.gossip import StateGossip, StateLine, decode, encode
from mesh.discovery.state import NodeState, Sample, Summary
from mesh.kernel.context import effects
from mesh.kernel.context.component import Beginning, Component, HandlerEntry, on_command
from mesh.kernel.context.facts import Hearing, on_fact
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.peers.census import Censuses
from mesh.kernel.peers.facts import PeerJoined, PeerLost
from mesh.kernel.peers.neighbours import Neighbours
from mesh.kernel.peers.peer import Peer
from mesh.kernel.states.facts import OurWaysChanged, OwnStateSent, StateReceived
from mesh.kernel.states.own_state import OwnState
from mesh.kernel.states.statetopics import PREFIX, StateTopics
from mesh.kernel.states.ways import OwnWays
from mesh.loglevels import GOSSIP
from mesh.mapping.rules import Rule
from mesh.proof import same
from mesh.wire.commands import Hear, Query, States
from mesh.wire.replies import Gossiped

TOPIC = PREFIX.encode()


class Gossiping(Component):
    """Component for the gossip of node states.

    `sample` measures the machine; without it no state is published.
    """

    def __init__(
        self,
        context: NodeContext,
        neighbours: Neighbours,
        censuses: Censuses,
        topics: StateTopics,
        ways: OwnWays,
        software: str,
    ) -> None:
        self._context = context
        self._neighbours = neighbours
        self.topics = topics
        self._interval = context.settings.state
        self._keyring = context.settings.keyring
        self.gossip = StateGossip(context.me.uuid, context.jitter, self._interval, self._is_signed)
        self.mine: NodeState | None = None
        self.sample: Callable[[], Sample] | None = None  # set by the shell, at start
        self.shared: dict[str, Summary] = {}  # summaries of shared rows, kept by Shared
        self._own = OwnState(context, software, ways, self.shared)
        self._censuses = censuses
        self._ways = ways
        self._balanced = dict.fromkeys(rule.node for rule in context.settings.rules)
        self._listening: dict[bytes, str] = {}  # uuid -> address of its PUB
        self._asked: set[bytes] = set()  # nodes asked to send states on the control link
        self._due = 0.0

    def fact_handlers(self) -> Sequence[Hearing]:
        return (
            on_fact(PeerJoined, self._on_peer_joined),
            on_fact(PeerLost, self._on_peer_lost),
            on_fact(OurWaysChanged, lambda _: self.hurry()),
        )

    def from_peers(self) -> Sequence[HandlerEntry]:
        return (
            on_command(States, lambda conn, peer, command, _: self._states(peer, command)),
            on_command(Hear, lambda conn, peer, command, _: self._on_hear(peer, command)),
        )

    # --- states of other nodes ------------------------------------------------------------------------

    def on_message(self, frames: list[bytes]) -> None:
        """Process a message from a PUB socket to which this node listens."""
        if len(frames) == 2 and frames[0] == TOPIC:
            sender = self._process_gossip(frames[1])
            peer = self._neighbours.peers.get(sender)
            if sender in self._asked and peer is not None:
                self._asked.discard(sender)  # its PUB is received after all
                self._context.out.send(peer.control or peer.data, Hear(False))

    def _states(self, peer: Peer, command: States) -> None:
        """Process a state from a peer's connection, and ask the peer to stop unless it was asked to send."""
        self._process_gossip(command.gossip)
        if peer.node.uuid not in self._asked:
            self._context.out.send(peer.control or peer.data, Hear(False))

    def _process_gossip(self, gossip: bytes) -> bytes:
        """Process a gossip message, and return the uuid of its sender, or b"" if it is malformed."""
        try:
            message = decode(gossip)
        except ValueError as error:
            self._context.counters.add_count("malformed_gossip")
            self._context.out.log_line("debug", f"malformed gossip: {error}", GOSSIP)
            return b""
        for known in self.gossip.heard(message, self._boot_of, self._context.clock.now):
            self.topics.publish_state(known.state)
            self._context.facts.publish_fact(StateReceived(known))
        if self.gossip.strangers:
            self._censuses.mentioned(message.sender, self.gossip.strangers)
        return message.sender

    def _boot_of(self, uuid: bytes) -> int | None:
        peer = self._neighbours.peers.get(uuid)
        return peer.node.boot if peer is not None and peer.alive else None

    def _is_signed(self, line: StateLine) -> bool:
        if self._keyring is None:
            return True
        peer = self._neighbours.peers.get(line.uuid)
        return peer is not None and self._keyring.verify(peer.node.key, line.signature, signed_text(line))

    def _on_hear(self, peer: Peer, command: Hear) -> None:
        """Record whether a peer can receive our PUB."""
        peer.hears_us = not command.wanted

    def load_of(self, name: str) -> tuple[float, float, int] | None:
        """Return a node's last reported load (0..1), the report's age (s) and free RAM (bytes), or `None`."""
        if name == self._context.me.name:
            return (self.mine.load, 0.0, self.mine.ram_free) if self.mine is not None else None
        peer = self._neighbours.named(name)
        known = self.gossip.known.get(peer.node.uuid) if peer is not None else None
        if known is None:
            return None
        return known.state.load, self._context.clock.now - known.heard, known.state.ram_free

    def is_leaving(self, name: str) -> bool:
        """Return whether a node is drained with its clients, as far as this node knows."""
        if name == self._context.me.name:
            return self._context.leaving.is_on
        peer = self._neighbours.named(name)
        known = self.gossip.known.get(peer.node.uuid) if peer is not None else None
        return known is not None and known.state.leaving

    def behind(self, stamp: int) -> list[str]:
        """Return the names of the nodes that are known to have weights older than `stamp`."""
        known = self.gossip.known.values()
        return [one.state.name for one in known if one.state.weights < stamp]

    def _on_peer_joined(self, fact: PeerJoined) -> None:
        if not self._neighbours.is_crowd:  # a crowd takes time to choose whom to listen to
            self._listen()

    def _on_peer_lost(self, fact: PeerLost) -> None:
        peer, boot = fact.peer, fact.boot
        peer.hears_us = True
        self._asked.discard(peer.node.uuid)
        self.gossip.remove_node(peer.node.uuid, boot, self._context.clock.now)
        self.topics.remove_state(peer.node.name)
        place = self._listening.pop(peer.node.uuid, "")
        if place:  # even after a restart: ZeroMQ gives up after a failed handshake
            self._context.out.emit(effects.Listen(place, wanted=False))
        if not self._neighbours.is_crowd:
            self._listen()

    def apply_rules(self, rules: Collection[Rule]) -> None:
        """Apply new rules, which may name other nodes to listen to."""
        self._balanced = dict.fromkeys(rule.node for rule in rules)
        self._ways.apply_rules(rules)
        self._listen()

    def before_read(self, query: Query) -> None:
        known = [known.state for known in self.gossip.known.values()]
        self.topics.provide_topics(query, known if self.mine is None else [self.mine, *known])

    def _alive(self) -> set[bytes]:
        return {uuid for uuid, peer in self._neighbours.peers.items() if peer.alive}

    def _favourites(self) -> set[bytes]:
        """Return the uuids of the masters and next hops of the rules, whose load should be known here."""
        found = (self._neighbours.named(name) for name in self._balanced)
        return {peer.node.uuid for peer in found if peer is not None}

    def _listen(self) -> set[bytes]:
        """Listen to the usable PUBs of the chosen nodes, and return the uuids of all chosen nodes."""
        wanted = self.gossip.listen_to(self._alive(), self._favourites(), self._context.clock.now)
        places = {uuid: place for uuid in sorted(wanted) if (place := self._place(uuid))}
        for uuid, place in list(self._listening.items()):
            if places.get(uuid) != place:
                self._context.out.emit(effects.Listen(place, wanted=False))
                del self._listening[uuid]
        for uuid, place in places.items():
            if uuid not in self._listening:
                self._context.out.emit(effects.Listen(place, wanted=True))
                self._listening[uuid] = place
        return wanted

    def _place(self, uuid: bytes) -> str:
        """Return the address of a node's PUB, or "" if it is unknown or cannot be used from here."""
        peer = self._neighbours.peers.get(uuid)
        if peer is None:
            return ""
        place = peer.node.gossip
        if not place.startswith("tcp://*:"):
            return place if self._keyring is None and place.startswith("ipc:///") else ""
        reached = peer.reached or peer.node.address
        host = reached.rpartition(":")[0]
        return f"{host}:{place.rpartition(':')[2]}" if host.startswith("tcp://") else ""

    # --- state of this node ---------------------------------------------------------------------------

    def start(self, beginning: Beginning) -> None:
        self.sample = beginning.sample
        self._own.start(beginning)

    def tick(self) -> None:
        now = self._context.clock.now
        if self.sample is None or not self._context.serves:
            return
        if now >= self._due:
            self._due = max(self._due + self._interval, now + self._interval / 2)
            self._speak(self.sample)
        self._context.clock.wake(self._due)

    def hurry(self) -> None:
        """Publish our state at the next tick, and request that tick immediately."""
        self._due = self._context.clock.now
        self._context.clock.wake(self._due)

    def before_goodbye(self) -> None:
        """Send the last state to all reachable peers, before the goodbye on each of their connections.

        Peers use that state while this node is stopped. The PUB socket may close before they have received
        it. A node that never served, or whose identity another process uses, sends none.
        """
        if self.sample is not None and self._context.serves and not self._context.is_doubled:
            _, message = self._next_state(self.sample)
            for conn in [conn for peer in self._neighbours.living_peers() for conn in peer.conns.values()]:
                self._context.out.send(conn, States(message))

    def _speak(self, sample: Callable[[], Sample]) -> None:
        mine, message = self._next_state(sample)
        self._context.out.emit(effects.Gossip([TOPIC, message]))
        for peer in self._neighbours.peers.values():
            if not peer.hears_us:
                self._context.out.send(peer.control or peer.data, States(message))
        self._ask_the_unheard(self._listen())
        self.topics.publish_state(mine)
        self._context.facts.publish_fact(OwnStateSent(mine))

    def _next_state(self, sample: Callable[[], Sample]) -> tuple[NodeState, bytes]:
        """Measure this node, and return its state and the message with this and some other states."""
        mine = self.mine = self._own.measure(sample())
        line = StateLine(self._context.me.uuid, self._context.me.boot, mine.counter, mine.encode())
        self.gossip.own(replace(line, signature=self._context.settings.sign(signed_text(line))))
        return mine, encode(self.gossip.outgoing(self._neighbours.membership.count, self._context.clock.now))

    def is_mine(self, line: StateLine) -> bool:
        """Return whether this node, in any boot, or a copy of this node has signed the state."""
        me, text = self._context.me, signed_text(line)
        if line.uuid != me.uuid or not line.signature:
            return False
        if self._keyring is not None:
            return self._keyring.verify(me.key, line.signature, text)
        return same(self._context.settings.sign(text), line.signature)

    def _ask_the_unheard(self, listened: set[bytes]) -> None:
        for uuid in sorted(self.gossip.unheard(listened, self._context.clock.now)):
            peer = self._neighbours.peers.get(uuid)
            if peer is not None and (peer.control or peer.data) is not None:
                self._context.out.send(peer.control or peer.data, Hear(True))
                self._asked.add(uuid)

    def described(self, uuid: bytes) -> Gossiped:
        """Return the columns of `mesh ls` that come from gossip; empty ones for a node without a state."""
        known = self.gossip.known.get(uuid)
        state = self.mine if uuid == self._context.me.uuid else known.state if known else None
        if state is None:
            return Gossiped()
        return Gossiped(
            cpu=state.cpu_used,
            state_age=self._context.clock.now - known.heard if known is not None else 0.0,
            waiting=state.tailback,
            **{name: getattr(state, name) for name in SAME},
        )


SAME = [name for name in Gossiped.__struct_fields__ if name not in ("cpu", "state_age", "waiting")]


def signed_text(line: StateLine) -> bytes:
    """Return the bytes that the signature of a state covers."""
    return b"heronry state\0" + line.uuid + line.boot.to_bytes(8) + line.counter.to_bytes(8) + line.state
