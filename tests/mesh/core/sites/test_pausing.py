"""Does what is for a site that is paused wait, at every node and after every start, and is nothing lost?"""

from typing import Any

import pytest

from mesh.core.rules.shared import RowKind
from mesh.core.sites.pausing import MOST, PAUSED, PAUSES
from mesh.errors import MeshError
from mesh.shared.row import SharedRow
from mesh.wire import commands as c
from tests.mesh.core.sites.meshes import member
from tests.mesh.core.sites.test_kept import STOCK, again, pair, publisher
from tests.mesh.core.sites.test_live import STOCKS
from tests.simulated_client import SimClient, client_of
from tests.simulation import SimNetwork, SimNode


def said(node: SimNode, **values: Any) -> Any:
    """What a node answers to whoever has its keys."""
    client = client_of(node).connected()
    for conn in node.core._conns.values():
        conn.grant = "node"
    call = client.ask(lambda request: c.Call(request, "site_pause", values))
    node.net.until(lambda: call.reply)
    return call.reply


def test_what_is_published_meanwhile_waits_and_goes_then_in_order() -> None:
    net = SimNetwork()
    gull, heron = pair(net)
    ann = SimClient(net, gull.ipc, "ann").connected()
    heard = ann.subscribed("quote", domain=STOCK)
    assert said(heron, site="NYC").value == {"changed": True}
    assert said(heron, site="NYC").value == {"changed": False}
    publisher(heron, 3)
    net.run(5)
    assert (gull.metric("published"), heron.metric("site_pending")) == (0, 3)
    again(heron)
    assert (gull.metric("published"), heron.metric("site_pending")) == (0, 3), "also after a start"
    assert heron.core.parts.gateways.views.is_reachable("NYC"), "what comes from there comes"
    assert said(heron, site="NYC", pause=False).value == {"changed": True}
    net.until(lambda: heard.contents == [b"0", b"1", b"2"])


def test_it_is_said_once_for_all_nodes_of_the_site_but_not_for_the_other_one() -> None:
    net = SimNetwork()
    gull, heron = pair(net)
    egret = member(net, "egret", "LON", "heron", tables={"NYC": STOCKS["NYC"]})
    net.until(lambda: "egret" in heron.alive)
    said(egret, site="NYC")
    net.until(lambda: heron.core.parts.relaying._is_paused("NYC"))
    publisher(heron)
    publisher(gull)
    net.until(lambda: heron.metric("published") == 2)
    assert (gull.metric("published"), heron.metric("site_pending")) == (1, 1)
    assert said(egret, site="SFO").code == "UNKNOWN_SITE"


def test_whoever_has_no_keys_of_a_node_pauses_nothing() -> None:
    net = SimNetwork()
    _, heron = pair(net)
    client = client_of(heron).connected()
    for conn in heron.core._conns.values():
        conn.grant = "client"
    call = client.ask(lambda request: c.Call(request, "site_pause", {"site": "NYC"}))
    net.until(lambda: call.reply is not None)
    assert call.reply is not None and call.reply.code and not heron.core.parts.relaying._is_paused("NYC")


def test_a_row_that_says_something_else_is_refused_and_so_are_too_many() -> None:
    net = SimNetwork()
    _, heron = pair(net)
    kind: RowKind = heron.core.parts.shared._kinds[PAUSES]

    def row(name: str, value: bytes) -> SharedRow:
        return SharedRow(PAUSES, name, 1, value, bytes(16), 0)

    for name, value in (("NYC", b"x"), ("a b", PAUSED), ("", b"")):
        with pytest.raises(MeshError):
            kind.check(row(name, value))
    for n in range(MOST):
        kind.changed(row(f"s{n}", PAUSED), None)
    kind.check(row("s0", b""))
    with pytest.raises(MeshError) as refused:
        kind.check(row("one-more", PAUSED))
    assert refused.value.code == "TOO_MANY_ROWS"
