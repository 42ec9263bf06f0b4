"""Faults of disks: full, slow, failing, corrupt, or replaced by an old copy."""

from __future__ import annotations

from collections.abc import Callable

from tools.simulator.stage.scene import Scene, Steps


class Disks:
    """The disks of a scene's nodes.

    `start` starts the process of a node again.
    """

    def __init__(self, scene: Scene, start: Callable[[str], None]) -> None:
        self._scene, self._nodes, self._start = scene, scene.nodes, start

    @property
    def steps(self) -> Steps:
        return {
            "fill": self._fill,
            "make room": self._make_room,
            "io error": self._io_error,
            "rot": self._rot,
            "restore": self._restore,
            "copy": self._copy,
            "put back": self._put_back,
            "accept": self._accept,
            "disk": self._slow,
            "fair disk": self._fair,
        }

    def _fill(self, name: str, reserve: str) -> None:
        self._scene.fault("full", name)
        disk = self._nodes[name].disk
        disk.is_full, disk.has_reserve = True, bool(reserve)

    def _make_room(self, name: str) -> None:
        self._scene.over("full", name)
        self._nodes[name].disk.is_full = False

    def _io_error(self, name: str) -> None:
        self._scene.fault("io error", name)
        self._nodes[name].is_failing = self._nodes[name].is_up

    def _rot(self, name: str) -> None:
        node = self._nodes[name]
        if not node.is_up and node.store.rot(self._scene.net.chance(f"rot {name}")):
            self._scene.fault("rot", name)

    def _copy(self, name: str) -> None:
        self._nodes[name].store.keep_copy(self._scene.net.now)

    def _put_back(self, name: str) -> None:
        if self._nodes[name].put_back():
            self._scene.fault("old copy", name)

    def _accept(self, name: str) -> None:
        self._nodes[name].accepts = True

    def _restore(self, name: str) -> None:
        node = self._nodes[name]
        node.store.restore()
        if node.is_refused:
            self._start(name)

    def _slow(self, name: str, low: float, high: float) -> None:
        self._scene.fault("slow disk", name)
        self._nodes[name].latency = (low, high)

    def _fair(self, name: str) -> None:
        self._scene.over("slow disk", name)
        self._nodes[name].latency = None
