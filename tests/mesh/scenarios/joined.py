"""Joined sites: real nodes, each site with keys of its own, on this machine or each node on its host.

with joined(Plan({"LON": 2, "NYC": 2}, rights='domains = ["STOCK"]')) as sites: ...
with joined(plan, wire=0.02) as sites: ...  # s of latency between two sites, each way
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import combinations
from pathlib import Path

from mesh.security.derive import RELAY
from mesh.security.joining import join_site, new_mesh, token_of
from mesh.security.keyfiles import MeshFile
from tests.mesh.running import RunningNode, state_directory, until
from tests.netlab import NetLab, require

LOCAL = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class Plan:
    """The number of nodes of each site, of which the first `gateways` ones are gateways.

    `rights` is what each site has in its file about each other one.
    """

    members: Mapping[str, int]
    rights: str
    gateways: int = 1
    in_row: bool = False  # a chain of sites; else all are linked
    moves: bool = False  # clients of a site may go to the sites that it dials

    @property
    def sites(self) -> list[str]:
        return list(self.members)

    def neighbours(self, site: str) -> list[str]:
        """Return the sites that this one is linked with."""
        at = self.sites.index(site)
        row = self.sites[max(0, at - 1) : at + 2]
        return [other for other in (row if self.in_row else self.sites) if other != site]

    def dialled(self, site: str) -> list[str]:
        """Return the linked sites that start earlier."""
        before = self.sites[: self.sites.index(site)]
        return [other for other in self.neighbours(site) if other in before]

    def file(self, site: str, addresses: Mapping[str, Sequence[str]], *, relay: bool) -> str:
        """Return the configuration file of a node. `addresses` has those of gateways, by site."""
        text = f'[site]\nname = "{site}"\nrelay = {json.dumps(relay)}\n'
        at, linked = self.sites.index(site), self.neighbours(site)
        for n, other in enumerate(self.sites):
            if other != site:
                text += f"[sites.{other}]\n{self.rights}\n"
                text += f'via = "{self.sites[at + (1 if n > at else -1)]}"\n' if other not in linked else ""
                if other in self.dialled(site):
                    text += f"addresses = {json.dumps(addresses[other])}\n"
                    text += "clients = true\n" if self.moves else ""
        return text


@dataclass
class Joined:
    """The running nodes of each site, the gateways first. `lab` has one host for each node."""

    nodes: dict[str, list[RunningNode]] = field(default_factory=dict)
    lab: NetLab | None = None

    def all(self) -> list[RunningNode]:
        return [node for nodes in self.nodes.values() for node in nodes]

    def host(self, node: RunningNode) -> int:
        """Return the number of the node's host in the lab."""
        return self.all().index(node) + 1

    def site_of(self, node: RunningNode) -> str:
        return next(site for site, nodes in self.nodes.items() if node in nodes)

    def session(self, node: RunningNode, client: str, at: RunningNode) -> str:
        """Return the name of a client's session as another node knows it, without its number."""
        site = self.site_of(node)
        away = "" if site == self.site_of(at) else f"/site/{site}"
        return f"{away}/node/{node.name}/client/{client}/session/"


@contextmanager
def joined(plan: Plan, *, wire: float = 0.0) -> Iterator[Joined]:
    """Run the sites of a plan during the block. They are linked when it begins.

    The first gateway of each site reaches all other sites; the others reach those that they dial. In the end
    no node may have logged a traceback.
    """
    if wire:
        require()
    with ExitStack() as stack:
        states = {site: stack.enter_context(state_directory()) for site in plan.sites}
        meshes = {site: new_mesh(state, f"test-{secrets.token_hex(4)}") for site, state in states.items()}
        for site, state in states.items():
            for other in plan.neighbours(site):
                join_site(state, other, token_of(meshes[other], RELAY, 0, site))
                if plan.moves:
                    join_site(state, other, token_of(meshes[other], "client", 0))
        found = Joined(lab=stack.enter_context(_late(plan, wire)) if wire else None)
        for site, state in states.items():
            found.nodes[site] = []
            for n in range(plan.members[site]):
                found.nodes[site].append(node := _node(plan, found, meshes[site], state, site, n))
                node.start()
                stack.callback(_stop, node)
        for site, nodes in found.nodes.items():
            others = [other for other in plan.sites if other != site]
            until(partial(_reaches, nodes[0], others))
            for node in nodes[1 : plan.gateways]:
                until(partial(_reaches, node, plan.dialled(site)))
        yield found
        for node in found.all():
            assert "Traceback" not in node.log, node.log


@contextmanager
def _late(plan: Plan, wire: float) -> Iterator[NetLab]:
    sites = [site for site, count in plan.members.items() for _ in range(count)]
    with NetLab(len(sites), switch=True) as lab:
        for (one, here), (other, there) in combinations(enumerate(sites, 1), 2):
            if here != there:
                lab.shape(one, other, delay=wire)
        yield lab


def _node(plan: Plan, found: Joined, keys: MeshFile, state: Path, site: str, n: int) -> RunningNode:
    """Return the node with index `n` of a site, which knows the running nodes of its site."""
    name, host = f"{site.lower()}{n}", len(found.all()) + 1
    first = n % plan.gateways  # the gateway of the same index comes first
    addresses = {}
    for other in plan.dialled(site):
        there = [node.tcp for node in found.nodes[other][: plan.gateways]]
        addresses[other] = there[first:] + there[:first]
    file = state / f"{name}.toml"
    file.write_text(plan.file(site, addresses, relay=n < plan.gateways))
    peers = [word for node in found.nodes[site] for word in ("--peer", node.tcp)]
    address = found.lab.address(host) if found.lab else LOCAL
    options = ("--config", str(file), "--bind", f"tcp://{address}:0", *peers)
    return RunningNode(name, state, keys.cluster, options, found.lab.command(host, []) if found.lab else ())


def _stop(node: RunningNode) -> None:
    if node.is_running:
        node.stop()


def _reaches(node: RunningNode, others: Sequence[str]) -> bool:
    return all(f"{other} can be reached" in node.log for other in others)
