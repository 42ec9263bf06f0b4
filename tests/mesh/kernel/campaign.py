"""A random simulation run of a mesh under load, and the promises that must hold after all is healed."""

from __future__ import annotations

from typing import Any

from mesh.patterns import matches
from tests import selection
from tests.mesh.kernel.masters import RUGBY, STOCK, cluster
from tests.mesh.store.images import standing
from tests.simulated_client import SimClient, Subscription, client_of
from tests.simulation import SimNetwork, SimNode

TOPICS = ("a", "b", "a/x", "a/y", "c/d/e")
PATTERNS = ("#", "a/#", "+", "a/+")
WINDOWS: list[dict[str, int]] = [{}, {"window_bytes": 900, "window_count": 6, "link_messages": 3}]
BRIEF = 2.0  # s of load in the quick set
HEALED = 200.0  # s for all deliveries after the last fault


class Campaign:
    """Nodes with a publisher each, and subscribers. A seed decides which faults occur."""

    domains: tuple[str, ...] = ("",)

    def __init__(self, seed: int, nodes: int = 3, subscribers: int = 3) -> None:
        self.net = SimNetwork(seed)
        self.rng = self.net.rng
        self.net.disk = self.rng.choice([(0.001, 0.01), (0.05, 0.3)])
        self.nodes = self._start(nodes, self.rng.choice(WINDOWS))
        nodes = len(self.nodes)
        self.publishers = [client_of(node, f"pub-{node.name}") for node in self.nodes]
        self.subscribers: list[tuple[SimClient, Subscription]] = []
        for n in range(subscribers):
            client = client_of(self.nodes[n % nodes], f"sub-{n}")
            self.subscribers.append((client, self._subscribe(client)))
        self.late: list[tuple[SimClient, Subscription]] = []
        self.faults: list[str] = []
        self.published = 0

    def _start(self, nodes: int, settings: dict[str, Any]) -> list[SimNode]:
        return self.net.mesh(*"abcdefgh"[:nodes], **settings)

    def _subscribe(self, client: SimClient) -> Subscription:
        rate = self.rng.choice([None, None, 200.0])
        if self.rng.random() < 0.3:
            return client.subscribed(self.rng.choice(TOPICS), domain=self._domain(), rate=rate)
        return client.subscribed(pattern=self.rng.choice(PATTERNS), domain=self._domain(), rate=rate)

    def _domain(self) -> str:
        return self.rng.choice(self.domains) if len(self.domains) > 1 else self.domains[0]

    def run(self, seconds: float, faults: float = 1.0) -> None:
        """Publish all the time, with `faults` a second on average. In the quick set the run is short."""
        end = self.net.now + (min(seconds, BRIEF) if selection.is_quick_run else seconds)
        for publisher in self.publishers:
            self._publish(publisher, end)
        while self.net.now < end:
            self.net.run(self.rng.expovariate(faults))
            self._befall()
            if self.rng.random() < 0.3:
                self._join_late(self.rng.choice(self.nodes))
        self.heal()

    def _publish(self, publisher: SimClient, end: float) -> None:
        keys = " ".join(self.rng.choice(TOPICS) for _ in range(self.rng.choice([1, 1, 1, 3, 10])))
        contents = [b"%d" % self.rng.randrange(10**9) for _ in keys.split()]
        publisher.publish(keys, *contents, persistent=self.rng.random() < 0.6, domain=self._domain())
        self.published += len(contents)
        if self.net.now < end:
            self.net.after(self.rng.expovariate(20.0), lambda: self._publish(publisher, end))

    def _join_late(self, node: SimNode) -> None:
        client = SimClient(self.net, node.ipc, f"late-{len(self.late)}")
        pattern, rate = self.rng.choice(PATTERNS), self.rng.choice([None, 100.0])
        self.late.append((client, client.subscribe(pattern=pattern, rate=rate, domain=self._domain())))

    def _befall(self) -> None:
        faults = [self.kill, self.break_link, self.cut, self.break_client, self.bounce, self.fill_disk]
        what = self.rng.choice([self.kill, *faults])
        what(self.rng.choice(self.nodes), self.rng.choice(self.nodes))

    def fill_disk(self, node: SimNode, _: SimNode) -> None:
        self.faults.append(f"{self.net.now:.3f} fill {node.name}")
        node.disk.is_full = True
        self.net.after(self.rng.choice([0.05, 1.0]), lambda: self.empty_disk(node))

    def empty_disk(self, node: SimNode) -> None:
        node.disk.is_full = False

    def kill(self, node: SimNode, _: SimNode) -> None:
        if node.is_up:
            self.faults.append(f"{self.net.now:.3f} kill {node.name}")
            node.kill()
            self.net.after(self.rng.choice([0.01, 0.2, 2.0, 14.0]), lambda: self.revive(node))

    def bounce(self, node: SimNode, _: SimNode) -> None:
        """Stop a node cleanly, and start it again."""
        if node.is_up:
            self.faults.append(f"{self.net.now:.3f} bounce {node.name}")
            node.close()
            self.net.after(self.rng.choice([0.01, 0.5, 3.0]), lambda: self.revive(node))

    def revive(self, node: SimNode) -> None:
        if not node.is_up:
            self.faults.append(f"{self.net.now:.3f} start {node.name}")
            node.start()

    def break_link(self, one: SimNode, other: SimNode) -> None:
        self.faults.append(f"{self.net.now:.3f} break {one.name} {other.name}")
        self.net.break_all(one.name, other.name)

    def break_client(self, _: SimNode, __: SimNode) -> None:
        client = self.rng.choice([*self.publishers, *(client for client, _ in self.subscribers)])
        self.faults.append(f"{self.net.now:.3f} break {client.name}")
        self.net.break_all(client.name)

    def cut(self, one: SimNode, other: SimNode) -> None:
        if one is not other:
            self.faults.append(f"{self.net.now:.3f} cut {one.name} {other.name}")
            self.net.cut(one.name, other.name)
            self.net.after(self.rng.choice([0.05, 1.0, 8.0, 14.0]), self.net.heal)

    # --- afterwards -----------------------------------------------------------------------------------

    def heal(self) -> None:
        self.faults.append(f"{self.net.now:.3f} heal")
        self.net.heal()
        for node in self.nodes:
            self.empty_disk(node)
            self.revive(node)
        self.net.until(lambda: all(len(node.alive) == len(self.nodes) - 1 for node in self.nodes), HEALED)
        for publisher in self.publishers:
            self.net.until(lambda p=publisher: p.is_through, HEALED)  # type: ignore[misc]
        end = self.net.now + HEALED
        while (self.missing() or not self.is_quiet) and self.net.now < end:
            self.net.run(1.0)

    @property
    def is_quiet(self) -> bool:
        """Whether nothing is pending at any node, and no store has an envelope."""
        return not any(
            node.metric("pending") or node.metric("stored_envelopes") or standing(node.disk.store)
            for node in self.nodes
        )

    def missing(self) -> list[str]:
        """Return the persistent messages that were answered OK, but that a subscription has not received."""
        result = []
        for publisher in self.publishers:
            owed = [
                (domain, number, key)
                for (domain, number), (key, _, is_persistent) in publisher.sent.items()
                if is_persistent and publisher.state(number, domain) == "OK"
                if (domain, number) not in publisher.letters
            ]
            for client, s in self.subscribers:
                got = {message.id for message in s.got}
                for domain, number, key in owed:
                    is_wanted = s.query.domain in ("", domain) and matches(s.query.text, key)
                    if is_wanted and (publisher.stream, domain, number) not in got:
                        result.append(f"{client.name} lacks {publisher.name} {number} {key}")
        return result

    def check(self) -> None:
        """Check the properties that every run must have."""
        assert not self.missing()
        senders = {p.stream: p for p in self.publishers}
        for client, s in (*self.subscribers, *self.late):
            last: dict[tuple[bytes, str, str], int] = {}
            for message in s.got:
                stream, domain, number = message.id
                key, content, _ = senders[stream].sent[domain, number]
                assert (message.key, message.content) == (key, content)
                assert senders[stream].state(number, domain) == "OK", "it was refused"
                assert matches(s.query.text, key) and s.query.domain in ("", domain)
                # The retained value of one topic may come after a newer message of another.
                of_all = 0 if message.is_initial else last.get((stream, domain, ""), 0)
                before = max(last.get((stream, domain, key), 0), of_all)
                assert number > before, f"{client.name} got {senders[stream].name} {number} after {before}"
                last[stream, domain, key] = number
                if not message.is_initial:
                    last[stream, domain, ""] = number
        for node in self.nodes:
            assert (node.name, node.metric("tailed_back")) == (node.name, 0)
            assert (node.name, node.metric("stored_envelopes")) == (node.name, 0)
            assert (node.name, node.metric("pending")) == (node.name, 0)
            assert (node.name, node.metric("malformed")) == (node.name, 0), node.notes
            assert (node.name, len(standing(node.disk.store))) == (node.name, 0)
            self.check_accounts(node)

    def check_accounts(self, node: SimNode) -> None:
        """Check that the counters have one outcome per message, at the publisher's node and per receiver."""
        m = node.core.parts.status.node_info().metrics
        last_words = m["client_routed"] + m["client_unrouted"] + m["client_refused"]
        assert (m["client_published"], m["client_held"]) == (last_words, 0)
        fates = ("delivered", "sent_to_peers", "dropped", "expired_waiting", "buried", "pending")
        assert m["matched"] == sum(m[fate] for fate in fates)


class Masters(Campaign):
    """A campaign in which each message has a master up to three hops away."""

    domains = (RUGBY, STOCK)

    def _start(self, nodes: int, settings: dict[str, Any]) -> list[SimNode]:
        started = cluster("heron", "avalon", "frodo", "bilbo", net=self.net, **settings).nodes.values()
        readers = [client_of(node, "reader", session=1) for node in started]
        self.inboxes = {reader.session_name: reader.inbox() for reader in readers}
        return list(started)

    def _publish(self, publisher: SimClient, end: float) -> None:
        if self.rng.random() < 0.15:
            to, content = self.rng.choice(list(self.inboxes)), b"%d" % self.rng.randrange(10**9)
            publisher.send(to, content, force=True, persistent=self.rng.random() < 0.6, domain=RUGBY)
        super()._publish(publisher, end)

    def missing(self) -> list[str]:
        result = super().missing()
        for publisher in self.publishers:
            for (domain, number), to in publisher.letters.items():
                is_owed = publisher.sent[domain, number][2] and publisher.state(number, domain) == "OK"
                got = {message.id for message in self.inboxes[to].got}
                if is_owed and (publisher.stream, domain, number) not in got:
                    result.append(f"{to} lacks {publisher.name} {number}")
        return result

    def check(self) -> None:
        super().check()
        senders = {p.stream: p for p in self.publishers}
        for name, inbox in self.inboxes.items():
            last: dict[bytes, int] = {}
            for message in inbox.got:
                stream, domain, number = message.id
                sender = senders[stream]
                assert (sender.letters[domain, number], message.sender) == (name, sender.session_name)
                assert message.content == sender.sent[domain, number][1]
                may_be_late = not sender.sent[domain, number][2]  # a transient message of a node that died
                assert number > last.get(stream, 0) or may_be_late, (
                    f"{name} got {number} after {last[stream]}"
                )
                last[stream] = max(number, last.get(stream, 0))
