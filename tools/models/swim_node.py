"""A node with a real membership only: it forwards requests and greetings, and dials.

A connection is opened by its first sender. Dead nodes are dialed again now and then.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import inf

from mesh.discovery.member import Member, Node, NodeLife, Rumour
from mesh.discovery.membership import (
    HEARSAY,
    Conflict,
    Dead,
    DialProbe,
    DirectProbe,
    DiscoveryRequest,
    IndirectProbe,
    Inform,
    Left,
    Lives,
    MemberEvent,
    Membership,
    NameClash,
    Restarted,
    Sighted,
    Spread,
)
from tools.models.swim_wires import SPEED, Happened, SwimWires

FEW = 3  # receivers of fresh rumors
REDIAL = 1.0  # s between two attempts to dial


@dataclass(frozen=True, slots=True)
class Hello:
    """The greeting that opens a connection.

    Its answer also has the known nodes.
    """

    node: Node
    is_answer: bool = False
    known: tuple[Rumour, ...] = ()


Message = DiscoveryRequest | Hello


class SwimNode:
    """A process of the simulated mesh.

    `members` is the tested membership; the rest does a node's work around it.
    """

    def __init__(self, net: SwimWires[SwimNode], node: Node) -> None:
        self.net = net
        self.node = node
        self.members = Membership(node, net.random.random, net.timing)
        self.linked: set[bytes] = set()
        self.is_up = True
        self.paused: float | None = None  # since when
        self.inbox: list[tuple[SwimNode, Message]] = []
        self.speaker: SwimNode | None = None  # the sender that gets the answers
        self.wakes_at = inf

    @property
    def name(self) -> str:
        return self.node.name

    def states(self) -> dict[str, NodeLife]:
        return {member.name: member.state for member in self.members.all()}

    def alive(self) -> set[str]:
        return {member.name for member in self.members.alive()}

    def of(self, name: str) -> Member:
        [member] = [member for member in self.members.all() if member.name == name]
        return member

    # --- in -----------------------------------------------------------------------------------------------

    def receive(self, sender: SwimNode, message: Message) -> None:
        """Handle a message, or keep it while this process is paused.

        A process that has ended ignores messages, and so does one without a connection to the sender, except
        for a greeting.
        """
        if not self.is_up:
            return
        if self.paused is not None:
            self.inbox.append((sender, message))
            return
        if not isinstance(message, Hello) and sender.node.uuid not in self.linked:
            return  # refused, or disconnected
        self.speaker = sender
        self._read(sender, message)
        self.speaker = None

    def _read(self, sender: SwimNode, message: Message) -> None:
        m, by, now = self.members, sender.node.uuid, self.net.now
        match message:
            case DirectProbe(_, number, uuid, boot, rumours):
                self.act(m.probe(by, number, uuid, boot, rumours, now))
            case Lives(_, number, lives, rumours):
                self.act(m.answered(by, number, lives, rumours, now))
            case IndirectProbe(_, number, node, rumours):
                self.act(m.probe_for(by, number, node, rumours, now))
            case Inform(_, rumours):
                self.act(m.rumoured(by, rumours, now))
            case Hello():
                self._greeted(sender, message)

    def _greeted(self, sender: SwimNode, hello: Hello) -> None:
        results = self.members.on_introduction(hello.node, self.net.now)
        self.act(results)
        known = self.members.member_of(hello.node.uuid)
        if known is None or known.boot != hello.node.boot or not known.state.startswith(("alive", "suspect")):
            return  # refused
        self.linked.add(hello.node.uuid)
        if not hello.is_answer:
            self.net.send(self, sender, Hello(self.node, True, self.members.known()))
        for rumour in hello.known:
            if self.members.count > HEARSAY:
                self.act(self.members.rumoured(sender.node.uuid, (rumour,), self.net.now))
            else:
                self.act(self.members.sight(rumour.node, "gossip", self.net.now))

    # --- out ----------------------------------------------------------------------------------------------

    def act(self, results: Iterable[MemberEvent | DiscoveryRequest]) -> None:
        """Carry out the results of the membership, and set the timer."""
        for result in results:
            if isinstance(result, DiscoveryRequest):
                self._carry_out(result)
            else:
                self._note(result)
        self.wake()

    def _carry_out(self, ask: DiscoveryRequest) -> None:
        if isinstance(ask, Spread):
            self._spread(ask.rumours)
        elif isinstance(ask, DialProbe):
            self.net.after(SPEED, self._knock, ask.node)
        elif self.speaker is not None and ask.to == self.speaker.node.uuid:
            self.net.send(self, self.speaker, ask)
        elif ask.to in self.linked or self.dial(ask.to, isinstance(ask, Inform)):
            self.net.send(self, self.net.process(ask.to), ask)

    def _spread(self, rumours: tuple[Rumour, ...]) -> None:
        known = list(self.net.processes)
        for uuid in self.net.random.sample(known, min(FEW, len(known))):
            if uuid in self.linked:
                self.net.send(self, self.net.process(uuid), Inform(uuid, rumours))

    def dial(self, uuid: bytes, is_idle: bool = False) -> bool:
        """Send a greeting, which opens a connection, and return whether it was sent.

        Nothing is sent to an unknown node, or with `is_idle`: then the message is not worth a connection.
        """
        if is_idle or uuid not in self.net.processes:
            return False
        self.net.send(self, self.net.process(uuid), Hello(self.node))
        return True

    def _knock(self, node: Node) -> None:
        if self.is_up:
            there = self.net.process(node.uuid)
            is_refused = not there.is_up and not self.net.is_cut(self, there)
            self.act(self.members.on_dial_probe(node.uuid, is_refused, self.net.now))

    def _note(self, event: MemberEvent) -> None:
        if isinstance(event, NameClash):
            return
        uuid = event.member.uuid
        if not isinstance(event, Sighted):
            self.net.happened.append(Happened(self.net.now, self.name, event))
        if isinstance(event, Dead | Left | Conflict | Restarted):
            self._hang_up(uuid)
        if isinstance(event, Sighted | Dead | Conflict | Restarted):
            self.net.after(SPEED if isinstance(event, Sighted) else REDIAL, self._redial, uuid)

    def _hang_up(self, uuid: bytes) -> None:
        self.linked.discard(uuid)
        for there in self.net.processes[uuid]:
            if not self.net.is_cut(self, there):
                self.net.after(SPEED, there.disconnected, self.node.uuid)

    def _redial(self, uuid: bytes) -> None:
        known = self.members.member_of(uuid)
        is_wanted = known is not None and known.state in (NodeLife.SEEN, NodeLife.DEAD, NodeLife.CONFLICT)
        if self.is_up and uuid not in self.linked and is_wanted and self.members.count <= HEARSAY:
            if self.paused is None:
                self.dial(uuid)
            self.net.after(REDIAL, self._redial, uuid)

    def disconnected(self, uuid: bytes) -> None:
        if self.is_up and self.paused is None and uuid in self.linked:
            self.linked.discard(uuid)
            self.act(self.members.probe_disconnected(uuid, self.net.now))

    # --- time ---------------------------------------------------------------------------------------------

    def wake(self) -> None:
        deadline = self.members.deadline()
        if deadline < self.wakes_at:
            self.wakes_at = deadline
            self.net.at(deadline, self._tick, deadline)

    def _tick(self, due: float) -> None:
        if due != self.wakes_at or not self.is_up or self.paused is not None:
            return
        self.wakes_at = inf
        self.act(self.members.tick(self.net.now))
