"""Faults of wires: cut, one-way, slow, or broken."""

from __future__ import annotations

from tools.simulator.stage.scene import Scene, Steps
from tools.simulator.world.weather import Wire


class Wires:
    """The wires between the nodes of a scene, and from its clients to them."""

    def __init__(self, scene: Scene) -> None:
        self._scene, self._net = scene, scene.net

    @property
    def steps(self) -> Steps:
        return {
            "cut": self._cut,
            "shut": self._shut,
            "mend": self._mend,
            "break": self._break,
            "break client": self._break_client,
            "wire": self._bad,
            "fair wire": self._fair,
            "part sites": self._part_sites,
            "join sites": self._join_sites,
        }

    def _cut(self, one: str, other: str) -> None:
        self._scene.fault("cut", one, other)
        self._net.cut(one, other)

    def _shut(self, sender: str, receiver: str) -> None:
        self._scene.fault("one way", sender, receiver)
        self._net.shut(sender, receiver)

    def _mend(self, one: str, other: str) -> None:
        self._scene.over("cut", one, other)
        self._net.heal_pair(one, other)

    def _break(self, one: str, other: str) -> None:
        self._scene.fault("break", one, other)
        self._net.break_all(one, other)

    def _break_client(self, name: str) -> None:
        self._scene.fault("break client", name)
        self._net.break_all(f"client {name}")

    def _bad(self, one: str, other: str, low: float, high: float, loss: float, bandwidth: float) -> None:
        self._scene.fault("wire", one, other)
        self._net.set_wire(one, other, Wire(low, high, loss, bandwidth))

    def _fair(self, one: str, other: str) -> None:
        self._scene.over("wire", one, other)
        self._net.set_wire(one, other, None)

    def _part_sites(self, one: str, other: str) -> None:
        self._scene.fault("sites parted", *sorted((one, other)))
        self._net.part(one, other)

    def _join_sites(self, one: str, other: str) -> None:
        self._scene.over("sites parted", *sorted((one, other)))
        self._net.join(one, other)
