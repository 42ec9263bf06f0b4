"""The end of a run: faults are healed, nodes meet, queues drain, and the rest is recorded."""

from __future__ import annotations

from mesh.kernel.context.settings import CONFIRM
from tools.simulator.casts import TOPICS
from tools.simulator.checks.values import EARLY, LAST
from tools.simulator.clients.partner import Partner
from tools.simulator.clients.witness import Witness
from tools.simulator.stage.company import Company
from tools.simulator.stage.machines import Machines
from tools.simulator.stage.queues import Queues
from tools.simulator.stage.scene import Scene
from tools.simulator.stage.services import Services
from tools.simulator.stage.sites import Sites
from tools.simulator.stage.spaces import Spaces
from tools.simulator.stage.strangers import Strangers
from tools.simulator.stage.transactions import Transactions

HEALED = 120.0  # s until all nodes must see each other
DRAIN = 60.0  # s that a run continues after its end,
DRAINED = 300.0  # and at most until everything is reported
SETTLED = 40.0  # s until cut-off nodes are redialed
READ = 10.0  # s for reports of all topics
# Figures of unfinished work.
OPEN = ("pending", "stored_envelopes", "tailed_back", "commits_under_way", "site_pending")


class Ending:
    """The end of a run, after all steps."""

    def __init__(
        self,
        scene: Scene,
        machines: Machines,
        strangers: Strangers,
        company: Company,
        services: Services,
        queues: Queues,
        sites: Sites,
        transactions: Transactions,
        spaces: Spaces,
    ) -> None:
        self._scene, self._machines, self._strangers, self._company = scene, machines, strangers, company
        self._services, self._queues, self._sites = services, queues, sites
        self._transactions, self._spaces = transactions, spaces
        self._net, self._nodes, self._clients = scene.net, scene.nodes, scene.clients
        self._cast = scene.script.cast
        self._healed = 0.0

    def play(self) -> None:
        self._heal()
        self._drain()
        self._spaces.read_all()
        self._scene.within(READ, self._spaces.are_through)
        self._queues.end()
        self._sites.end()
        self._transactions.end()
        self._spaces.end()
        for machine in self._nodes.values():
            machine.observer.end()
        for client in self._clients.values():
            self._last_words(client)

    def _heal(self) -> None:
        self._strangers.leave()
        for node in self._nodes.values():
            node.disk.is_full = node.is_failing = False
            node.latency, node.armed, node.jumped = None, None, 0
            node.store.restore()
            if node.liar is not None:  # replaced by an honest process
                node.liar = None
                node.kill()
        self._net.heal()
        self._scene.tell("healed")
        self._net.run(1.0)
        self._scene.within(HEALED, self._have_met)
        self._healed = self._net.now  # paused nodes are back

    def _have_met(self) -> bool:
        """Start the nodes that are down, and return whether all nodes have met."""
        for name in self._nodes:
            self._machines.start(name)
        nodes = self._nodes.values()
        met = all(
            n.is_up and not n.is_stopped and n.alive >= {*self._cast.mates(n.name)} - {n.name} for n in nodes
        )
        return met and self._sites.have_met()

    def _drain(self) -> None:
        self._use_up()
        self._services.hurry()
        self._spaces.hurry()
        self._scene.within(HEALED, self._are_through)
        self._scene.within(DRAIN, self._is_quiet)  # while messages wait, more could be dropped
        self._net.run(max(0.0, self._healed + SETTLED - self._net.now))
        if self._is_quiet():
            self._read(EARLY)
        self._last_publishes()
        self._services.ask_all()
        self._net.run(DRAIN)
        self._scene.within(DRAINED - DRAIN, self._is_quiet)
        if self._is_quiet():
            self._read(LAST)

    def _use_up(self) -> None:
        """Let all readers consume immediately, and add askers, readers of inboxes and consumers of queues."""
        for name in sorted(self._clients):
            for s in list(self._clients[name].subscriptions.values()):
                self._clients[name].use(s)
        for name in self._nodes:
            self._company.come(f"asker-{name}", name)
            if self._cast.rules_at(name) != "plain":
                self._company.come(f"later-{name}", name)
                self._clients[f"later-{name}"].open_inbox()
        self._queues.use_up()

    def _read(self, turn: int) -> None:
        """Get each topic at each node.

        A first get reveals which nodes are behind.
        """
        askers = [self._clients[f"asker-{name}"] for name in self._nodes]
        for asker in askers:
            for domain in self._cast.domains:
                asker.ask_get(TOPICS[0], domain, True)
        self._net.run(CONFIRM)
        for name in sorted(self._behind()):
            self._scene.tell("untold yet", to=name)
        for name, asker in zip(self._nodes, askers, strict=True):
            for domain in self._cast.domains:
                for key in TOPICS:
                    if self._cast.rules_at(name) != "plain":  # else there is no cache
                        asker.read(key, domain, fresh=False, turn=turn)
                    asker.read(key, domain, fresh=True, turn=turn)
        self._scene.within(READ, lambda: not any(asker.calls for asker in askers))

    def _behind(self) -> set[str]:
        """Return the nodes with unreported gaps, and the receivers of their reports."""
        found = set[str]()
        waiting = {name for node in self._nodes.values() for name in node.observer.untold_yet()}
        while waiting:
            found.add(name := waiting.pop())
            waiting |= self._nodes[name].observer.relayed_to() - found
        return found

    def _last_publishes(self) -> None:
        """Publish once more, so that each subscriber that is owed a message or a gap is notified.

        One topic stays unchanged, for the second reading.
        """
        self._scene.tell("last")
        for name in self._scene.script.clients:
            for domain in self._cast.domains:
                for key in TOPICS[:-1]:
                    self._company.publish(name, key, "persistent", domain, 10)

    def _is_quiet(self) -> bool:
        figures = [node.core.parts.context.figures() for node in self._nodes.values()]
        waits = any(any(f[what] for what in OPEN) for f in figures)
        waits = waits or any(list(node.store.load().envelopes) for node in self._nodes.values())
        return not waits and self._queues.are_empty() and self._are_through()

    def _are_through(self) -> bool:
        return self._spaces.are_through() and all(
            c.is_through for c in self._clients.values() if not c.is_closed
        )

    def _last_words(self, client: Witness) -> None:
        if client.is_closed:
            return
        for request in client.calls.values():
            client.event("open call", text=type(request.command).__name__)
        if not client.is_through:
            client.event("open publish")
        if client.roams and client.core.visits.is_moving:
            client.event("open visit", to=client.core.line.home)
        if client.roams and not client.is_up:
            client.event("unserved")
        if client.is_stuck:
            client.event("unsent")
        for number, to in client.open.items() if isinstance(client, Partner) else ():
            client.event("open ask", stream=client.stream.hex(), first=number, to=to)
