"""Messages for a paused site: they wait at every node, also after restarts, and none is lost."""

from typing import Any
from unittest.mock import patch

import pytest

from mesh.errors import MeshError
from mesh.features.sites.node.parts import SiteParts
from mesh.features.sites.node.pausing import MOST, PAUSED, PAUSES
from mesh.features.sites.node.site_connection import Gateway
from mesh.kernel.sharing.shared import RowKind
from mesh.shared.row import SharedRow
from mesh.wire import commands as c
from tests.mesh.features.sites.node import test_requests
from tests.mesh.features.sites.node.chains import NET2, Middle
from tests.mesh.features.sites.node.meshes import member
from tests.mesh.features.sites.node.site_direct_messages import client, name_at, refused, two_sites
from tests.mesh.features.sites.node.test_gateway_reload import STOCKS
from tests.mesh.features.sites.node.test_requests import User, fate_at_once
from tests.mesh.features.sites.node.test_sitefeed import STOCK, again, pair, publisher
from tests.seeds import scenarios
from tests.simulated_client import SimClient, client_of
from tests.simulation import SimNetwork, SimNode


def said(node: SimNode, **values: Any) -> Any:
    """Return the node's reply to a `site_pause` call with node rights."""
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
    assert heron.core.parts[SiteParts].gateways.views.is_reachable("NYC"), "what comes from there comes"
    assert said(heron, site="NYC", pause=False).value == {"changed": True}
    net.until(lambda: heard.contents == [b"0", b"1", b"2"])


def test_it_is_said_once_for_all_nodes_of_the_site_but_not_for_the_other_one() -> None:
    net = SimNetwork()
    gull, heron = pair(net)
    egret = member(net, "egret", "LON", "heron", tables={"NYC": STOCKS["NYC"]})
    net.until(lambda: "egret" in heron.alive)
    said(egret, site="NYC")
    net.until(lambda: heron.core.parts[SiteParts].sender._is_paused("NYC"))
    publisher(heron)
    publisher(gull)
    net.until(lambda: heron.metric("published") == 2)
    assert (gull.metric("published"), heron.metric("site_pending")) == (1, 1)
    assert said(egret, site="SFO").code == "UNKNOWN_SITE"


def test_a_paused_site_that_is_no_longer_configured_can_be_resumed() -> None:
    net = SimNetwork()
    _, heron = pair(net)
    shared = heron.core.parts.shared
    shared.write_row(PAUSES, "SFO", shared.stamp(PAUSES, "SFO"), PAUSED)
    assert said(heron, site="SFO").code == "UNKNOWN_SITE"
    assert said(heron, site="SFO", pause=False).value == {"changed": True}
    assert said(heron, site="SFO", pause=False).code == "UNKNOWN_SITE"


def test_whoever_has_no_keys_of_a_node_pauses_nothing() -> None:
    net = SimNetwork()
    _, heron = pair(net)
    client = client_of(heron).connected()
    for conn in heron.core._conns.values():
        conn.grant = "client"
    call = client.ask(lambda request: c.Call(request, "site_pause", {"site": "NYC"}))
    net.until(lambda: call.reply is not None)
    assert (
        call.reply is not None
        and call.reply.code
        and not heron.core.parts[SiteParts].sender._is_paused("NYC")
    )


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
    kind.changed(row("s0", b""), None)
    kind.check(row("one-more", PAUSED))
    kind.check(row("never-paused", b""))


def paused(node: SimNode, site: str, pause: bool = True) -> None:
    """Pause or resume the site at that node."""
    assert said(node, site=site, pause=pause).value == {"changed": True}


def text(client: SimClient, number: int) -> str:
    """Return the reason for which the client's direct message was refused."""
    return client.answers["", number].text


def test_a_letter_to_it_is_refused_at_once_or_waits_and_what_has_left_goes_on() -> None:
    net = SimNetwork()
    a, b, _, d = two_sites(net)
    joe, inbox = client(b, "joe"), client(d, "ann").inbox()
    to = name_at("NYC", d, "ann")
    net.cut("c", "d")
    joe.send(to, b"left", force=True)
    net.run(0.5)
    paused(a, "NYC")
    net.until(lambda: b.core.parts[SiteParts].sender._is_paused("NYC"))
    assert refused(joe, to, 2) == "SITE_UNREACHABLE"
    assert "mesh relay resume NYC" in text(joe, 2)
    joe.send(to, b"waits", force=True, persistent=True)
    joe.settled()
    assert joe.state(3) == "FORWARD_WARNING"
    net.heal()
    net.until(lambda: inbox.contents == [b"left"])
    b.kill()
    b.start()
    net.until(lambda: "b" in a.alive)
    net.run(5)
    assert inbox.contents == [b"left"]
    paused(a, "NYC", False)
    net.until(lambda: len(inbox.got) > 1)
    net.run(2)
    assert inbox.contents == [b"left", b"waits"] and not b.metric("tailed_back")


def test_a_request_to_it_is_refused_at_once_also_while_nobody_knows_its_gateways() -> None:
    net = SimNetwork()
    a, b, _, d = test_requests.two_sites(net)
    server, asker = User(d, "server"), User(b, "asker")
    server.serve("calc/add")
    paused(b, "NYC")
    assert fate_at_once(asker, "/site/NYC/calc/add") == "SITE_UNREACHABLE"
    paused(b, "NYC", False)
    n = asker.request("/site/NYC/calc/add", b"1 2")
    server.answer_all(1)
    net.until(lambda: asker.replies)
    assert asker.replies[0][:2] == (n, b"re: 1 2") and server.contents() == [b"1 2"]
    del a


@pytest.mark.parametrize("site", scenarios([NET2, "NET1"]))
def test_a_site_behind_one_that_is_paused_is_given_nothing_either(site: str) -> None:
    middle = Middle(NET2={"letters": ("#",)})
    joe = client(middle.hf, "joe")
    paused(middle.hf, site)
    middle.publish(1)
    assert refused(joe, "/site/NET2/node/net20/client/ann") == "SITE_UNREACHABLE"
    assert f"mesh relay resume {site}" in text(joe, 1)
    middle.net.run(2)
    assert middle.heard.contents == []
    paused(middle.hf, site, False)
    middle.settled()


def test_who_pauses_it_in_the_middle_is_named_to_who_sends_there_and_all_goes_when_it_goes_on() -> None:
    letters: dict[str, object] = {"letters": ("#",)}
    middle = Middle(HF=letters, NET1=letters, NET2={**letters, "serves": ("#",)})
    net, hf, to = middle.net, middle.hf, "/site/NET2/node/net20/client/ann"
    joe, asker = client(hf, "joe"), User(hf, "asker")
    paused(middle.first, NET2)
    link = hf.core.parts[SiteParts].gateways.link
    net.until(lambda: (told := link(NET2)) is not None and told.state == "paused by NET1")
    view = hf.core.parts[SiteParts].gateways.views.view(NET2)
    assert view is not None and view.state == "unreachable"
    assert refused(joe, to) == "SITE_UNREACHABLE"
    assert text(joe, 1).startswith("NET1 has paused messages for NET2.")
    assert fate_at_once(asker, "/site/NET2/calc/add") == "SITE_UNREACHABLE"
    joe.send(to, b"waits", force=True)
    middle.publish(1)
    net.run(10)
    assert joe.state(2) == "FORWARD_WARNING" and middle.heard.contents == []
    paused(middle.first, NET2, False)
    net.until(lambda: joe.state(2) == "OK", 0.2)
    middle.settled()


def test_a_letter_that_comes_to_the_middle_before_that_is_told_is_refused_with_the_reason() -> None:
    letters: dict[str, object] = {"letters": ("#",)}
    middle = Middle(NET1=letters, NET2=letters)
    joe = client(middle.hf, "joe")
    with patch.object(Gateway, "reaches", lambda self, site: True):
        paused(middle.first, NET2)
        middle.net.until(lambda: middle.second.core.parts[SiteParts].sender._is_paused(NET2))
        assert refused(joe, "/site/NET2/node/net20/client/ann") == "SITE_UNREACHABLE"
    assert "NET1 has paused messages for NET2 (`mesh relay resume NET2` in NET1)." in text(joe, 1)
