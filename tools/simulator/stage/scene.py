"""The scene of a run: its network, nodes and clients, and the history that they share."""

from __future__ import annotations

from collections.abc import Callable

from tools.simulator.clients.witness import Witness
from tools.simulator.history import Event, History
from tools.simulator.script import Script, roaming
from tools.simulator.world.machine import HarshNode
from tools.simulator.world.weather import HarshNetwork

Steps = dict[str, Callable[..., None]]  # functions by the kind of a step


class Scene:
    """The scene of one run, which all steps share.

    `history` is complete after the run.
    """

    def __init__(self, script: Script) -> None:
        self.script = script
        self.roaming = roaming(script)
        self.history = History()
        self.net = HarshNetwork(script.seed)
        self.net.lay(script.wire)
        sites = {node: place.name for place in script.cast.sites for node in place.nodes}
        self.net.lay_between(sites, script.far)
        self.net.disk = script.disk
        self.net.has_descriptors = script.has_descriptors
        self.clients: dict[str, Witness] = {}
        self.nodes: dict[str, HarshNode] = {}

    def tell(self, kind: str, text: str = "", who: str = "", to: str = "") -> None:
        self.history.add(Event(self.net.now, kind, who, text=text, to=to))

    def others_of(self, node: str) -> list[str]:
        """Return the addresses of the other nodes of the mesh of `node`, in the order of its clients."""
        mates = [name for name in self.script.cast.mates(node) if name != node]
        self.net.chance(f"others of {node}").shuffle(mates)
        return [self.nodes[name].ipc for name in mates]

    def fault(self, what: str, who: str, to: str = "") -> None:
        self.tell("fault", what, who, to)

    def over(self, what: str, who: str, to: str = "") -> None:
        self.tell("over", what, who, to)

    def within(self, seconds: float, is_done: Callable[[], bool]) -> None:
        """Let time pass in steps of 1 s until `is_done`, or for about `seconds` at most."""
        end = self.net.now + seconds
        while self.net.now < end and not is_done():
            self.net.run(1.0)
