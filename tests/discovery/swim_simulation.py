"""Many memberships in one program: time is a heap, chance has a seed, and nothing but asks and hellos passes.

Links are like TCP unless told otherwise: first in, first out, and what is lost comes later. A connection is
opened by whoever wants to say something, as nodes do; what is dead is dialled again now and then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import count
from math import inf
from random import Random

from discovery.member import Member, Node, Presence, Rumour
from discovery.membership import (
    HEARSAY,
    Answer,
    Ask,
    Conflict,
    Dead,
    Event,
    Knock,
    Left,
    Membership,
    NameClash,
    Probe,
    ProbeFor,
    Restarted,
    Sighted,
    Spread,
    Tell,
    Timing,
)

SPEED = 0.001  # s that a message takes at most, if nothing is lost
RETRY = 0.2  # s after which what was lost is sent again, then twice as much
FEW = 3  # to whom fresh news is told
REDIAL = 1.0  # s between two attempts to reach one that is not alive


@dataclass(frozen=True, slots=True)
class Hello:
    """Opens a connection; the answer is the same, with whom we know."""

    node: Node
    is_answer: bool = False
    known: tuple[Rumour, ...] = ()


@dataclass(frozen=True, slots=True)
class Happened:
    """What a node concluded."""

    at: float
    observer: str
    event: Event


Message = Ask | Hello


class SwimNode:
    """One process. `members` is what is tested, the rest is what a node does around it."""

    def __init__(self, net: SwimNetwork, node: Node) -> None:
        self.net = net
        self.node = node
        self.members = Membership(node, net.random.random, net.timing)
        self.linked: set[bytes] = set()
        self.is_up = True
        self.paused: float | None = None  # since when
        self.inbox: list[tuple[SwimNode, Message]] = []
        self.speaker: SwimNode | None = None  # whose message is being read: answers go back to it
        self.wakes_at = inf

    @property
    def name(self) -> str:
        return self.node.name

    def states(self) -> dict[str, Presence]:
        return {member.name: member.state for member in self.members.all()}

    def alive(self) -> set[str]:
        return {member.name for member in self.members.alive()}

    def of(self, name: str) -> Member:
        [member] = [member for member in self.members.all() if member.name == name]
        return member

    # --- in -----------------------------------------------------------------------------------------------

    def receive(self, sender: SwimNode, message: Message) -> None:
        """A message arrives, or waits until this process runs again."""
        if not self.is_up:
            return
        if self.paused is not None:
            self.inbox.append((sender, message))
            return
        if not isinstance(message, Hello) and sender.node.uuid not in self.linked:
            return  # refused, or hung up on
        self.speaker = sender
        self._read(sender, message)
        self.speaker = None

    def _read(self, sender: SwimNode, message: Message) -> None:
        m, by, now = self.members, sender.node.uuid, self.net.now
        match message:
            case Probe(_, number, uuid, boot, rumours):
                self.act(m.probe(by, number, uuid, boot, rumours, now))
            case Answer(_, number, lives, rumours):
                self.act(m.answered(by, number, lives, rumours, now))
            case ProbeFor(_, number, node, rumours):
                self.act(m.probe_for(by, number, node, rumours, now))
            case Tell(_, rumours):
                self.act(m.rumoured(by, rumours, now))
            case Hello():
                self._greeted(sender, message)

    def _greeted(self, sender: SwimNode, hello: Hello) -> None:
        results = self.members.hear(hello.node, self.net.now)
        self.act(results)
        known = self.members.of(hello.node.uuid)
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

    def act(self, results: Iterable[Event | Ask]) -> None:
        """Carry out what membership wants, and look at the clock."""
        for result in results:
            if isinstance(result, Ask):
                self._carry_out(result)
            else:
                self._note(result)
        self.net.wake(self)

    def _carry_out(self, ask: Ask) -> None:
        if isinstance(ask, Spread):
            self._spread(ask.rumours)
        elif isinstance(ask, Knock):
            self.net.after(SPEED, self._knock, ask.node)
        elif self.speaker is not None and ask.to == self.speaker.node.uuid:
            self.net.send(self, self.speaker, ask)
        elif ask.to in self.linked or self.dial(ask.to, isinstance(ask, Tell)):
            self.net.send(self, self.net.process(ask.to), ask)

    def _spread(self, rumours: tuple[Rumour, ...]) -> None:
        known = list(self.net.processes)
        for uuid in self.net.random.sample(known, min(FEW, len(known))):
            if uuid in self.linked:
                self.net.send(self, self.net.process(uuid), Tell(uuid, rumours))

    def dial(self, uuid: bytes, is_idle: bool = False) -> bool:
        """Say hello first, unless it is not worth it."""
        if is_idle or uuid not in self.net.processes:
            return False
        self.net.send(self, self.net.process(uuid), Hello(self.node))
        return True

    def _knock(self, node: Node) -> None:
        if self.is_up:
            there = self.net.process(node.uuid)
            is_refused = not there.is_up and not self.net.is_cut(self, there)
            self.act(self.members.knocked(node.uuid, is_refused, self.net.now))

    def _note(self, event: Event) -> None:
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
        known = self.members.of(uuid)
        is_wanted = known is not None and known.state in (Presence.SEEN, Presence.DEAD, Presence.CONFLICT)
        if self.is_up and uuid not in self.linked and is_wanted and self.members.count <= HEARSAY:
            if self.paused is None:
                self.dial(uuid)
            self.net.after(REDIAL, self._redial, uuid)

    def disconnected(self, uuid: bytes) -> None:
        """The transport says so."""
        if self.is_up and self.paused is None and uuid in self.linked:
            self.linked.discard(uuid)
            self.act(self.members.disconnected(uuid, self.net.now))


class SwimNetwork:
    """All of them. `loss` is a share of messages; `is_tcp` makes it delay. `has_hints`: the transport notices
    broken connections, as it does when a process dies and its machine does not."""

    def __init__(
        self,
        seed: int,
        *,
        loss: float = 0.0,
        is_tcp: bool = True,
        has_hints: bool = False,
        timing: Timing | None = None,
    ) -> None:
        self.random = Random(seed)
        self.loss = loss
        self.is_tcp = is_tcp
        self.has_hints = has_hints
        self.timing = timing or Timing()
        self.now = 0.0
        self.happened: list[Happened] = []
        self.processes: dict[bytes, list[SwimNode]] = {}  # all processes of a node, the newest last
        self.sides: dict[str, int] = {}  # of a partition
        self.cuts: set[frozenset[str]] = set()  # pairs that cannot reach each other
        self.packets = 0
        self._heap: list[tuple[float, int, Callable[..., None], tuple[object, ...]]] = []
        self._serial = count()
        self._free: dict[tuple[bytes, bytes], float] = {}  # when the last message on that way arrives

    # --- nodes --------------------------------------------------------------------------------------------

    def start(self, name: str, boot: int = 1, uuid: bytes = b"", seeds: Iterable[str] = ()) -> SwimNode:
        """A process begins, and dials its seeds."""
        uuid = uuid or name.encode().rjust(16, b".")
        node = SwimNode(self, Node(uuid, name, boot, f"tcp://{name}:{7000 + boot}"))
        self.processes.setdefault(uuid, []).append(node)
        for seed in seeds:
            node.act(node.members.sight(self[seed].node, "seed", self.now))
        return node

    def together(self, size: int) -> list[SwimNode]:
        """So many that know each other already, and each that the others do."""
        nodes = [self.start(f"n{i}") for i in range(size)]
        for node in nodes:
            for other in nodes:
                if other is not node:
                    node.members.hear(other.node, self.now)
                    node.members._detector._news.drop(other.node.uuid)
            node.linked = {other.node.uuid for other in nodes if other is not node}
            self.wake(node)
        return nodes

    def __getitem__(self, name: str) -> SwimNode:
        """The newest process of that name."""
        return next(p[-1] for p in reversed(self.processes.values()) if p[-1].name == name)

    def process(self, uuid: bytes) -> SwimNode:
        """The one that whoever dials that node gets."""
        processes = self.processes[uuid]
        return next((p for p in reversed(processes) if p.is_up), processes[-1])

    def kill(self, node: SwimNode) -> None:
        """As kill -9 does; only its machine says that it is gone, if there are hints."""
        node.is_up = False
        for other in self._all():
            if self.has_hints and not self.is_cut(node, other):
                self.after(self.random.random() * SPEED, other.disconnected, node.node.uuid)
            elif not self.has_hints:
                other.linked.discard(node.node.uuid)

    def leave(self, node: SwimNode) -> None:
        """It says goodbye to those it has a connection to, and ends."""
        for uuid in node.linked:
            other = self.process(uuid)
            self.after(SPEED, self._bye, other, node)
            self.send(node, other, Tell(uuid, node.members.goodbye()))
        node.is_up = False

    def _bye(self, other: SwimNode, node: SwimNode) -> None:
        if other.is_up:
            other.act(other.members.leave(node.node.uuid, node.node.boot, self.now))

    def pause(self, node: SwimNode, seconds: float) -> None:
        """As SIGSTOP and, later, SIGCONT do."""
        node.paused = self.now
        self.after(seconds, self.resume, node)

    def resume(self, node: SwimNode) -> None:
        """It reads what came before it looks at the clock, and no timer counts the pause."""
        if node.paused is None:
            return
        node.members.lagged(self.now - node.paused)
        node.paused = None
        inbox, node.inbox = node.inbox, []
        for sender, message in inbox:
            node.receive(sender, message)
        node.wakes_at = inf
        self.wake(node)

    def part(self, *sides: Iterable[SwimNode]) -> None:
        """From now on nothing passes between the sides."""
        self.sides = {node.name: i for i, side in enumerate(sides) for node in side}

    def heal(self) -> None:
        self.sides, self.cuts = {}, set()

    def is_cut(self, a: SwimNode, b: SwimNode) -> bool:
        is_apart = bool(self.sides) and self.sides.get(a.name) != self.sides.get(b.name)
        return is_apart or (bool(self.cuts) and frozenset((a.name, b.name)) in self.cuts)

    # --- time ---------------------------------------------------------------------------------------------

    def after(self, seconds: float, act: Callable[..., None], *arguments: object) -> None:
        heappush(self._heap, (self.now + seconds, next(self._serial), act, arguments))

    def send(self, sender: SwimNode, target: SwimNode, message: Message) -> None:
        """Put it on the way."""
        self.packets += 1
        if self.is_cut(sender, target):
            return
        arrives = self.now + self.random.random() * SPEED
        if self.loss:
            retry = RETRY
            while self.random.random() < self.loss:
                if not self.is_tcp:
                    return
                arrives += retry
                retry *= 2
        if self.is_tcp:
            way = (sender.node.uuid, target.node.uuid)
            arrives = self._free[way] = max(arrives, self._free.get(way, 0.0))
        heappush(self._heap, (arrives, next(self._serial), target.receive, (sender, message)))

    def wake(self, node: SwimNode) -> None:
        """See that it looks at the clock in time."""
        deadline = node.members.deadline()
        if deadline < node.wakes_at:
            node.wakes_at = deadline
            heappush(self._heap, (deadline, next(self._serial), self._tick, (node, deadline)))

    def _tick(self, node: SwimNode, due: float) -> None:
        if due != node.wakes_at or not node.is_up or node.paused is not None:
            return
        node.wakes_at = inf
        node.act(node.members.tick(self.now))

    def run(self, seconds: float) -> None:
        """So much time passes."""
        end = self.now + seconds
        heap = self._heap
        while heap and heap[0][0] <= end:
            self.now, _, act, arguments = heappop(heap)
            act(*arguments)
        self.now = end

    def until(self, is_so: Callable[[], bool], within: float, step: float = 0.1) -> float:
        """Time passes until it is so; how long that took. AssertionError after `within` seconds."""
        start = self.now
        while not is_so():
            assert self.now - start < within, f"not within {within} s"
            self.run(step)
        return self.now - start

    # --- what happened ------------------------------------------------------------------------------------

    def _all(self) -> list[SwimNode]:
        return [p for processes in self.processes.values() for p in processes]

    def up(self) -> list[SwimNode]:
        """The processes that run."""
        return [p for p in self._all() if p.is_up]

    def times(self, kind: type[Event], name: str) -> list[float]:
        """When somebody concluded that of the node with this name."""
        return [h.at for h in self.happened if isinstance(h.event, kind) and subject(h.event) == name]

    def are_complete(self) -> bool:
        """Does everybody that runs count everybody that runs, and nobody else, as alive?"""
        names = {node.name for node in self.up()}
        return all(node.alive() == names for node in self.up())


def subject(event: Event) -> str:
    """Whom it is about."""
    return event.newcomer.name if isinstance(event, NameClash) else event.member.name
