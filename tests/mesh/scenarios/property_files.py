"""Nodes that are started with property files."""

from pathlib import Path
from typing import Any

from mesh.config import Config, load
from mesh.features.xmlblaster.properties import parsed
from mesh.features.xmlblaster.translation import settings_of
from tests.mesh.running import RunningNode
from tests.mesh.scenarios.topology import Loop, Processes


def node(name: str, rules: str, address: str = "") -> str:
    """Return the entry of one node. Old documents end <connect> like this."""
    connect = (
        f"\\\n   <connect><qos><address type='SOCKET'>{address}</address></qos><connect>" if address else ""
    )
    return f"cluster.node[{name}]=\\\n <clusternode id='{name}'>{connect}{rules}\\\n </clusternode>\n"


def master(domain: str, attributes: str = "") -> str:
    """Return a rule of a <clusternode>."""
    return f"\\\n   <master {attributes}><key domain='{domain}'/></master>"


class FromProperties(Processes):
    """Nodes as processes, each with the property file that it is given."""

    def start(self, name: str, file: str, *options: str) -> RunningNode:
        path = self._state / f"{name}.properties"
        path.write_text(f"cluster.node.id={name}\n" + file.format_map(self._known()))
        if name not in self.nodes:
            said = ("--properties", str(path), "--log-level", "debug", *options)
            self.nodes[name] = RunningNode(name, self._state, self._cluster, said)
        self.nodes[name].start()
        return self.nodes[name]

    def _known(self) -> dict[str, str]:
        return {known: node.tcp.removeprefix("tcp://") for known, node in self.nodes.items()}


class LoopFromProperties(Loop):
    """Nodes in the test's own event loop, each with the property file that it is given."""

    def config(self, name: str, file: str, given: dict[str, Any]) -> Config:
        known = {known: address.removeprefix("tcp://") for known, address in self.addresses.items()}
        text = f"cluster.node.id={name}\n" + file.format_map(known)
        settings = settings_of(parsed(Path(f"{name}.properties"), text)).settings
        return load(None, {}, given, properties=settings)
