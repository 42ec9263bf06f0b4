"""Two sites of two nodes each set one topic. Is the value that lost found where docs/sites.md says so?"""

from typing import Any

import pytest

from mesh.config.sites import RemoteSite
from mesh.mapping.rules import Rule
from tests.mesh.core.sites.meshes import FIRST, Reader, events, gateway, links, member
from tests.mesh.core.sites.test_conflicting import LOST, OF_QUOTE
from tests.mesh.core.sites.test_kept import STOCK
from tests.pages import ROOT
from tests.seeds import stories
from tests.simulated_client import SimClient
from tests.simulation import SimNetwork

GATEWAYS = ("gull", "heron")
SITE_OF = {"gull": "NYC", "tern": "NYC", "heron": "LON", "hawk": "LON"}
# The first three: two gateways, then a gateway and another node, either way.
PAIRS = [(a, b) for a in SITE_OF for b in SITE_OF if SITE_OF[a] != SITE_OF[b]]


class Four:
    """NYC with its gateway gull, and tern; LON with its gateway heron, and hawk. `is_ruled`: tern and hawk
    are the masters of STOCK, by a rule; else each node is of what is published at it."""

    def __init__(self, is_ruled: bool) -> None:
        self.net = net = SimNetwork()
        to_lon, to_nyc = ({site: RemoteSite(site, domains=(STOCK,))} for site in ("LON", "NYC"))

        def rules(master: str) -> dict[str, Any]:
            return {"rules": (Rule(master, domains=(STOCK,)),)} if is_ruled else {}

        gull = gateway(net, "gull", "NYC", "LON", tables=to_lon, **rules("tern"))
        heron = gateway(net, "heron", "LON", "NYC", FIRST, tables=to_nyc, **rules("hawk"))
        tern = member(net, "tern", "NYC", "gull", tables=to_lon, **rules("tern"))
        hawk = member(net, "hawk", "LON", "heron", tables=to_nyc, **rules("hawk"))
        self.nodes = {node.name: node for node in (gull, tern, heron, hawk)}
        net.until(lambda: links(gull) == links(heron) == 1)
        net.until(lambda: all(len(node.alive) == 1 for node in self.nodes.values()))
        self.readers = {name: Reader(net, node.ipc, "ann").connected() for name, node in self.nodes.items()}
        self.lost = {name: ann.subscribed(pattern=LOST) for name, ann in self.readers.items()}
        net.run(1)

    def set_apart(self, older: str, newer: str) -> None:
        """The line is paused, somebody sets the topic at each of these nodes, and both sites go on."""
        for node in self.nodes.values():
            node.core.parts.relaying._is_paused = lambda site: True
        for name, text in ((older, b"older"), (newer, b"newer")):
            client = SimClient(self.net, self.nodes[name].ipc, "joe").connected()
            client.publish("quote", text, domain=STOCK, persistent=True)
            client.settled()
        for node in self.nodes.values():
            node.core.parts.relaying._is_paused = lambda site: False
            node.core.parts.relaying._is_due("LON" if SITE_OF[node.name] == "NYC" else "NYC")
        self.net.until(lambda: not any(node.metric("site_pending") for node in self.nodes.values()))
        self.net.run(2)

    def values(self) -> set[bytes]:
        """What is read at each node."""
        found = [ann.get("quote", domain=STOCK, fresh=True) for ann in self.readers.values()]
        return {message.content for (message,) in found}

    def keeps(self) -> set[str]:
        """The sites that keep the older value, where it is read at all nodes, told and counted."""
        reads = {name for name, lost in self.lost.items() if lost.got}
        letters = [(letter.key, letter.content) for name in reads for letter in self.lost[name].got]
        assert letters == [(OF_QUOTE, b"older")] * len(reads)
        told = {name for name, node in self.nodes.items() if any(OF_QUOTE in n for n in events(node, "site"))}
        counted = {name: node.metric("site_conflicts") for name, node in self.nodes.items()}
        assert dict.fromkeys(told, 1) == {name: count for name, count in counted.items() if count}
        sites = {SITE_OF[name] for name in told}
        assert reads == {name for name, site in SITE_OF.items() if site in sites}
        return sites


@pytest.mark.parametrize("is_ruled", [True, False], ids=["a rule", "no rule"])
@pytest.mark.parametrize("older_newer", stories(PAIRS, 3), ids="-".join)
def test_the_newer_stays_everywhere_and_the_other_is_kept_where_one_node_is_master_of_both(
    older_newer: tuple[str, str], is_ruled: bool
) -> None:
    older, newer = older_newer
    four = Four(is_ruled)
    four.set_apart(older, newer)
    assert four.values() == {b"newer"}
    is_found = is_ruled or newer in GATEWAYS
    assert four.keeps() == ({SITE_OF[newer]} if is_found else set())


def test_the_page_says_where_none_is_kept() -> None:
    page = " ".join((ROOT / "docs" / "sites.md").read_text().split())
    assert "**One that lost is found where one node is master of both.**" in page
    assert "without one only if the later value was set at the gateway by which the other comes in" in page
    assert "it is kept at no node, not told and not counted" in page
