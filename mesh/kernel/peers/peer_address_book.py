"""Addresses of possible nodes: from the configuration, added by users, and remembered from earlier runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from math import inf

from mesh.dialable import LONGEST, is_node_address
from mesh.errors import LocalError, MeshError
from mesh.kernel.context.component import Beginning, Component
from mesh.kernel.context.conn import Conn
from mesh.kernel.context.disk import Disk
from mesh.kernel.context.facts import Hearing, on_fact
from mesh.kernel.context.incoming_call import IncomingCall, Right, Verb, answer
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.peers.dialler import Dialler
from mesh.kernel.peers.facts import GivenUp, SeedEnded
from mesh.kernel.peers.remembered_nodes import MET, RememberedNodes
from mesh.operations import Delete, Put
from mesh.reasons.reason import reason
from mesh.wire.calls import AskPeer
from mesh.wire.commands import NODE_CONTROL, Introduction
from mesh.wire.replies import Changed, PeerRow, Reason

PATIENT = 4  # failed dials before silence is reported
DIALLED = 64  # remembered nodes that are dialed at the next start
TRYING_ON = "Connecting."
SILENT = "no answer (is a node running there?)"
KINDS = CONFIG, ADDED, SHARED, REMEMBERED = "config", "added", "mesh", "remembered"


@dataclass(slots=True)
class Seed:
    """An address that is dialed while no live node is known to be there."""

    kind: str
    due: float = 0.0
    attempt: int = 0
    conn: Conn | None = None
    is_heard: bool = False
    node: str = ""  # name of the last node there
    uuid: bytes = b""  # uuid of the last node there
    why: str = ""  # why the last dial failed; "" = it did not
    tried: int = 0  # ns since 1970, time of that failure
    told: str = ""  # the reason that was last reported
    silent: int = 0  # consecutive failures without a reason


class PeerAddressBook(Component):
    """The addresses to dial, and the remembered nodes with their addresses and first keys.

    `is_alive(uuid)` returns whether a node is alive, and `is_occupied(address)` whether a live node has it.
    """

    def __init__(
        self,
        context: NodeContext,
        disk: Disk,
        dialler: Dialler,
        is_alive: Callable[[bytes], bool],
        is_occupied: Callable[[str], bool],
    ) -> None:
        self._context = context
        self._dialler = dialler
        self._remembers = context.settings.remember
        self._seeds = {address: Seed(CONFIG) for address in context.settings.seeds}
        nodes = self._nodes = RememberedNodes(context, disk)
        self.met, self.key_of = nodes.met, nodes.key_of
        self.has_met, self.was_met = nodes.has_met, nodes.was_met
        self.keep_queued, self.with_queued = nodes.keep_queued, nodes.with_queued
        self.shared: dict[str, tuple[str, ...]] = {}  # set by the admin: node -> its addresses
        self._is_alive = is_alive
        self._is_occupied = is_occupied
        self._disk = disk

    def fact_handlers(self) -> Sequence[Hearing]:
        return (on_fact(SeedEnded, self._on_seed_ended),)

    def client_verbs(self) -> Sequence[Verb]:
        return (answer(AskPeer, self._on_peer_change, Right.RUN),)

    # --- start ------------------------------------------------------------------------------------------

    def start(self, beginning: Beginning) -> None:
        rows = beginning.rows("peer")
        for key, row in sorted(rows.items()):
            try:
                if key[:1] == b"a":
                    self._seeds.setdefault(key[1:].decode(), Seed(ADDED))
                else:
                    self._nodes.restore_node(key[1:], row)
            except (MeshError, UnicodeDecodeError):  # addresses are only hints
                self._context.out.log_line("warning", "a stored peer address is damaged and was removed")
                self._disk.later("peer", key, Delete("peer", key))
        self._nodes.on_restored()
        for node in self._nodes.latest(DIALLED) if self._remembers else ():
            for address in (node.address, *node.also):
                self._seeds.setdefault(address, Seed(REMEMBERED, node=node.name))

    # --- changes by users -------------------------------------------------------------------------------

    def _on_peer_change(self, asked: IncomingCall[AskPeer]) -> None:
        a = asked.ask
        asked.reply(Changed(changed=self.remove_address(a.remove) if a.add is None else self.add(a.add)))

    def add(self, address: str) -> bool:
        """Dial that address now and after every start; return False if the node does so already.

        Raises: LocalError for an invalid address, or if the node keeps `MET` addresses already.
        """
        known = self._seeds.get(address)
        if known is not None and known.kind not in (SHARED, REMEMBERED):
            return False
        if not is_node_address(address):
            what = f"{address[:80]!r} is not an address of a node."
            hint = f"Write tcp://HOST:PORT, with at most {LONGEST} characters."
            raise LocalError(what, hint=hint, code="BAD_ADDRESS")
        if known is None and len(self._seeds) >= MET:
            what = f"This node keeps {len(self._seeds):,} addresses; the limit is {MET:,}."
            hint = "Remove some: `mesh peer ls`, `mesh peer rm ADDRESS`."
            raise LocalError(what, hint=hint, code="BAD_ADDRESS")
        self._seeds[address] = Seed(ADDED)
        self._disk.later("peer", b"a" + address.encode(), Put("peer", b"a" + address.encode(), b""))
        self._context.event("peer", f"{address} was added")
        self._context.clock.wake(self._context.clock.now)
        return True

    def set_shared(self, addresses: Mapping[str, Sequence[str]]) -> None:
        """Replace the addresses that the admin has set for nodes, by their names."""
        self.shared = {name: tuple(at) for name, at in addresses.items()}
        others = {a: name for name, at in self.shared.items() if name != self._context.me.name for a in at}
        for address in [a for a, seed in self._seeds.items() if seed.kind == SHARED and a not in others]:
            self._drop_seed(address)
        for address, name in others.items():
            known = self._seeds.get(address)
            if known is None:
                self._seeds[address] = Seed(SHARED, node=name)
            elif known.kind == REMEMBERED:
                known.kind, known.due = SHARED, 0.0
        self._context.clock.wake(self._context.clock.now)

    def _drop_seed(self, address: str) -> Seed:
        seed = self._seeds.pop(address)
        if seed.conn is not None:
            self._context.out.hang_up(seed.conn)
        return seed

    def remove_address(self, what: str) -> bool:
        """Forget an address, or a node by its name or address; return whether any was forgotten.

        Configured addresses stay. For a forgotten node that is not alive, GivenUp is published.
        """
        uuids = [node.uuid for node, _ in self._nodes if what in (node.name, node.address)]
        for uuid in uuids:
            self._nodes.forget_node(uuid)
            if not self._is_alive(uuid):
                self._context.facts.publish_fact(GivenUp(uuid))
        found = [
            address
            for address, seed in self._seeds.items()
            if what in (address, seed.node) and seed.kind not in (CONFIG, SHARED)
        ]
        for address in found:
            if self._drop_seed(address).kind == ADDED:
                self._disk.later("peer", b"a" + address.encode(), Delete("peer", b"a" + address.encode()))
        if uuids or found:
            self._context.event("peer", f"{what} was removed")
        return bool(uuids or found)

    @property
    def remembered(self) -> int:
        """The number of addresses that are dialed because a node was reached at them before."""
        return sum(seed.kind == REMEMBERED for seed in self._seeds.values())

    def rows(self) -> dict[str, PeerRow]:
        """Return the rows of all addresses and remembered nodes, by a key for sorting."""
        rows: dict[str, PeerRow] = {}
        by_address: dict[str, PeerRow] = {}
        for address, seed in self._seeds.items():
            row = PeerRow(address=address, kind=seed.kind, node=seed.node)
            if seed.why and not self._is_taken(address, seed):
                row.why, row.tried = seed.why, max(0.0, (self._context.clock.wall - seed.tried) / 1e9)
            rows[f"{KINDS.index(seed.kind)} {address}"] = by_address[address] = row
        for node, wall in self._nodes:
            seen = max(0.0, (self._context.clock.wall - wall) / 1e9)
            address, name = node.address, node.name
            if address in by_address:
                by_address[address].node, by_address[address].seen = name, seen
            else:
                place = f"{KINDS.index(REMEMBERED)} {address} {name} {node.uuid.hex()}"
                rows[place] = PeerRow(address=address, kind=REMEMBERED, node=name, seen=seen)
        return rows

    def in_vain(self, node: str, most: int) -> Iterator[Reason]:
        """Yield a reason for each failed dial of an address where that node may be, at most `most`."""
        names = (node,) if any(met.name == node for met, _ in self._nodes) else ("", node)
        failed = ((a, s.why) for a, s in self._seeds.items() if s.why and s.node in names)
        for address, why in islice(failed, most):
            yield reason("DIAL_FAILED", address=address, why=why)

    # --- dialing ----------------------------------------------------------------------------------------

    def via(self, address: str) -> str:
        """Return how a node at that address was found: "remembered" or "seed"."""
        seed = self._seeds.get(address)
        return "remembered" if seed is not None and seed.kind == REMEMBERED else "seed"

    def who(self, address: str) -> bytes:
        """Return the uuid of the last node at that address, or b"" if it is unknown."""
        seed = self._seeds.get(address)
        return seed.uuid if seed is not None else b""

    @property
    def are_heard(self) -> bool:
        """Whether each address has answered, or has a live node."""
        return all(s.is_heard or self._is_occupied(address) for address, s in self._seeds.items())

    def tick(self) -> None:
        now = self._context.clock.now
        for address, seed in self._seeds.items():
            if seed.conn is not None or now < seed.due or self._is_taken(address, seed):
                continue
            seed.attempt += 1
            rarely = 10 if seed.kind == REMEMBERED else 1
            seed.due = now + rarely * self._dialler.dial_delay(seed.attempt, self._name(address, seed))
            seed.conn = self._dialler.dial(address, NODE_CONTROL, b"", seed=address)
        self._context.clock.wake(self._deadline())

    def _name(self, address: str, seed: Seed) -> str:
        """Return the name of the last node at the address, or else the configured one, or ""."""
        return seed.node or self._context.settings.seed_names.get(address, "")

    def _is_taken(self, address: str, seed: Seed) -> bool:
        """Return whether a live node is at the address, even if it is known by another address.

        A live node resets the failed dials.
        """
        if (seed.uuid and self._is_alive(seed.uuid)) or self._is_occupied(address):
            seed.attempt = 0
            return True
        return False

    def record_answer(self, conn: Conn, node: Introduction) -> None:
        seed = self._seeds.get(conn.seed)
        if seed is not None:
            seed.is_heard, seed.conn, seed.node, seed.uuid = True, None, node.name, node.uuid
            seed.why, seed.told, seed.silent = "", "", 0

    def says_no(self, conn: Conn, why: str) -> bool:
        """Record a refusal by either side, and return whether its reason is new.

        The result is `True` for a connection that was not dialed to an address in this book.
        """
        conn.why = why
        seed = self._seeds.get(conn.seed)
        if seed is None:
            return True
        is_news, seed.silent = seed.told != why, 0
        seed.why, seed.told, seed.tried = why, why, self._context.clock.wall
        return is_news

    def on_refused(self, conn: Conn, is_us: bool) -> None:
        """Dial an address less often after a refusal, or forget the address if this node itself answered."""
        seed = self._seeds.get(conn.seed)
        if seed is None:
            return
        seed.is_heard, seed.conn = True, None
        if is_us:
            del self._seeds[conn.seed]
        else:
            most = self._context.settings.of_link("backoff_max", self._name(conn.seed, seed))
            seed.due, seed.attempt = self._context.clock.now + most, 8

    def _on_seed_ended(self, fact: SeedEnded) -> None:
        conn = fact.conn
        seed = self._seeds.get(conn.seed)
        if seed is not None and seed.conn is conn:
            seed.conn = None
            self._failed(conn.seed, seed, conn.why, conn.hint)
            self._context.clock.wake(max(seed.due, self._context.clock.now))

    def _failed(self, address: str, seed: Seed, why: str, hint: str) -> None:
        """Record a failed dial, and report it if its reason is new and the address is not a remembered one.

        Silence is reported only after several dials, as the transport does not always know the reason.
        """
        seed.silent = 0 if why else seed.silent + 1
        is_sure = bool(why) or seed.silent >= PATIENT
        if is_sure or seed.why in ("", SILENT):
            seed.why, seed.tried = why or SILENT, self._context.clock.wall
        if is_sure and seed.told != seed.why and seed.kind != REMEMBERED:
            seed.told = seed.why
            self._context.event("peer", f"{address}: {seed.why}. {hint or TRYING_ON}", level="warning")

    def _deadline(self) -> float:
        idle = (s.due for a, s in self._seeds.items() if s.conn is None and not self._is_taken(a, s))
        return max(min(idle, default=inf), self._context.clock.now)
