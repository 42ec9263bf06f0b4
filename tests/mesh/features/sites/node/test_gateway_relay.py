"""The order of a stream when a connection between gateways is lost with some of its messages."""

from typing import Any

import pytest
from msgspec.structs import replace

from mesh.features.sites.node import gateway_relay
from mesh.features.sites.node.facts import GateChanged
from mesh.features.sites.node.parts import SiteParts
from mesh.mapping.rules import Rule
from mesh.wire.envelope import Envelope
from tests.mesh.features.sites.node.meshes import FIRST, Reader, gateway, links, member
from tests.mesh.features.sites.node.test_site_relay import FROM_LON, STOCK, TO_NYC
from tests.mesh.origins import silence
from tests.simulated_client import SimClient
from tests.simulation import SimNetwork, SimNode

HERON = "tcp://127.0.0.1:5004"


class Sites:
    """LON has the gateway heron, and wren.

    NYC has gull, which heron dials, grebe, which dials heron, and tern, the master.
    """

    def __init__(self) -> None:
        self.net = net = SimNetwork()
        rules: Any = {"rules": (Rule("tern", domains=(STOCK,)),), "tables": FROM_LON}
        self.gull = gateway(net, "gull", "NYC", "LON", **rules)
        self.grebe = gateway(net, "grebe", "NYC", "LON", HERON, "gull", **rules)
        self.tern = member(net, "tern", "NYC", "gull", **rules)
        self.heron = gateway(net, "heron", "LON", "NYC", FIRST, tables=TO_NYC)
        self.wren = member(net, "wren", "LON", "heron", tables=TO_NYC)
        net.until(lambda: links(self.heron) == 2 and len(self.wren.alive) == 1 and len(self.tern.alive) == 2)
        self.joe = SimClient(net, self.wren.ipc, "joe").connected()
        self.heard = Reader(net, self.tern.ipc, "ann").connected().subscribed("quote", domain=STOCK)
        net.run(1)
        self.transit: gateway_relay.GatewayRelay = next(
            part
            for part in self.heron.core.parts.context.face
            if isinstance(part, gateway_relay.GatewayRelay)
        )

    def publish(self, *texts: bytes) -> None:
        for text in texts:
            self.joe.publish("quote", text, domain=STOCK, persistent=True)

    def way(self) -> SimNode:
        """Return the gateway of NYC through which joe's stream goes."""
        (stream,) = flight = self.transit._flights["NYC"]
        gates = self.heron.core.parts[SiteParts].gateways._gates["NYC"].gateways
        uuid = next(uuid for uuid, each in gates.items() if each.conn is flight.route_of(stream))
        return next(node for node in (self.gull, self.grebe) if node.uuid == uuid)

    def lose(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Lose the messages in transit together with their gateway, without a notice to wren."""
        self.way().kill()
        monkeypatch.setattr(self.transit._presence, "serve", lambda *told: None)
        self.net.until(lambda: links(self.heron) == 1)


def test_what_is_published_before_its_master_knows_of_a_loss_goes_behind_what_was_lost(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    it = Sites()
    it.publish(b"1", b"2")
    it.net.until(lambda: it.transit._flights["NYC"])
    with monkeypatch.context() as patch:
        it.lose(patch)
        it.publish(b"3")
        it.net.run(1)
        assert it.heard.got == []
    it.transit._on_gate_changed(GateChanged("NYC", True))
    it.net.until(lambda: len(it.heard.got) == 3)
    it.publish(b"4")
    it.net.until(lambda: len(it.heard.got) == 4)
    assert it.heard.contents == [b"1", b"2", b"3", b"4"]
    assert not it.transit._lost, "nothing is remembered of what came again"


def test_no_more_losses_are_remembered_than_a_bound_and_none_of_who_left(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(gateway_relay, "MOST_LOST", 2)
    it = Sites()
    for n in range(4):
        SimClient(it.net, it.wren.ipc, f"bob{n}").connected().publish(f"k{n}", b"", domain=STOCK)
    it.net.until(lambda: len(it.transit._flights["NYC"]) >= 2)
    gull, grebe = it.gull, it.grebe
    with monkeypatch.context() as patch:
        patch.setattr(it.transit._presence, "serve", lambda *told: None)
        gull.kill()
        grebe.kill()
        it.net.until(lambda: links(it.heron) == 0)
    assert 1 <= len(it.transit._lost) <= 2
    it.wren.kill()
    it.net.until(lambda: not it.transit._lost)


def test_nothing_is_in_flight_for_a_node_that_logged_out() -> None:
    it = Sites()
    for node in (it.gull, it.grebe):
        silence(node.core.parts)
    it.publish(b"1")
    it.net.until(lambda: it.heard.got)
    assert it.transit._flights["NYC"]
    it.wren.kill()
    it.net.until(lambda: not it.transit._flights["NYC"])


def test_what_was_held_back_for_something_that_went_by_another_gateway_is_asked_for_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    it = Sites()
    it.publish(b"1")
    it.net.until(lambda: it.heard.got)
    it.net.run(1)
    asker = it.wren.uuid, False
    key = it.joe.stream, STOCK
    it.transit._lost["NYC", key, asker] = 1  # wren has the answer to it
    taken = it.transit.forward

    def take(source: bytes, site: str, envelopes: list[Envelope], dropped: int = 0) -> None:
        taken(source, site, [replace(envelope, low=1) for envelope in envelopes], dropped)

    monkeypatch.setattr(it.transit, "forward", take)
    it.publish(b"2", b"3")
    it.net.run(1)
    assert it.heard.contents == [b"1"] and it.transit._early
    it.net.until(lambda: it.heard.contents == [b"1", b"2", b"3"], limit=5)
    it.net.run(5)
    assert not it.transit._early and not it.transit._lost
    assert it.wren.metric("site_pending") == 0
