"""Faults of machines: processes start, crash and pause, and clocks jump."""

from __future__ import annotations

from typing import Any

from mesh.wire.commands import Introduction
from tools.simulator.stage.scene import Scene, Steps
from tools.simulator.workload import FIRST
from tools.simulator.world.keys import gateway_settings, idle, key_settings, member_settings, tables_of
from tools.simulator.world.machine import HarshNode

ADVERTISED = 30.0  # s between two adverts of a node
HEARD = 0.7  # share of adverts received, as multicast is unreliable


class Machines:
    """The nodes of the script, across all of their processes."""

    def __init__(self, scene: Scene) -> None:
        self._scene, self._net, self._nodes = scene, scene.net, scene.nodes
        self._was: dict[str, list[Introduction]] = {}  # introduction of each process
        for name in scene.script.nodes:
            self._nodes[name] = self._made(name)

    @property
    def steps(self) -> Steps:
        return {
            "start": self.start,
            "kill": self.kill,
            "power off": self._power_off,
            "close": self._close,
            "arm": self._arm,
            "pause": self._pause,
            "set clock": self._set_clock,
            "advert": self._advert,
        }

    def _made(self, name: str) -> HarshNode:
        scene, script = self._scene, self._scene.script
        keys = key_settings(name) if script.is_keyed else self._keys_in_site(name)
        settings = {
            "linger": 60.0,
            **({"sample": idle} if script.tells_states else {}),
            **keys,
            **script.settings,
            **script.cast.settings(name),
            **script.own.get(name, {}),
        }
        node = HarshNode(self._net, name, script.cast.seeds(name), settings, scene.history)
        node.drift = script.drifts[name]
        return node

    def _keys_in_site(self, name: str) -> dict[str, Any]:
        """Return the keys of the node's site, if any, and the site settings of a gateway."""
        cast = self._scene.script.cast
        place = cast.site_of(name)
        if place is None:
            return {}
        tables = tables_of(cast.others(place))
        if name not in place.gateways:
            return {**member_settings(name, place.name), **tables}
        return {**gateway_settings(name, place.name, cast.dialled(place)), **tables}

    def start(self, name: str) -> None:
        node = self._nodes[name]
        if node.is_up:
            return
        node.start()
        if node.is_up:
            me = node.core.parts.context.me
            self._was.setdefault(name, []).append(me)
            self._advertise(name, me.boot)

    def _advertise(self, name: str, boot: int) -> None:
        """Advertise a process to all nodes, repeatedly, while it lives."""
        node = self._nodes[name]
        if not node.is_up or node.disk.boot != boot:
            return
        for other in map(self._nodes.__getitem__, self._scene.script.cast.mates(name)):
            dice = self._net.chance(f"adverts {name} > {other.name}")
            is_heard = self._net.now < FIRST or dice.random() < HEARD  # nodes have met when a run begins
            if other is not node and is_heard and self._net.passes(name, other.name):
                self._advert(name, other.name, "")
        self._net.after(ADVERTISED, lambda: self._advertise(name, boot))

    def _advert(self, name: str, to: str, age: str) -> None:
        said = self._was.get(name, [])
        if said:
            me = said[0] if age == "stale" else said[-1]
            if me is not said[-1]:
                self._scene.history.met("stale advert")
            wait = self._net.delay(name, to)
            self._net.after(wait, lambda: self._nodes[to].advertised(me))

    def kill(self, name: str) -> None:
        self._scene.fault("kill", name)
        self._nodes[name].kill()

    def _power_off(self, name: str) -> None:
        self._scene.fault("power off", name)
        self._nodes[name].power_off()

    def _close(self, name: str) -> None:
        self._scene.fault("close", name)
        self._nodes[name].close()

    def _arm(self, name: str, point: str, seconds: float, stage: str = "") -> None:
        """Arm a crash point.

        `stage` is the stage of a move that the commit must write, or empty.
        """
        self._scene.fault(f"crash {point}", name)
        self._nodes[name].armed = (point, seconds, stage)

    def _pause(self, name: str, seconds: float) -> None:
        node = self._nodes[name]
        if node.is_up and not node.is_stopped:
            self._scene.fault("pause", name)
            node.pause(seconds)
            self._net.after(seconds, lambda: self._resumed(name))

    def _resumed(self, name: str) -> None:
        if not self._nodes[name].is_stopped:  # paused again after a restart
            self._scene.over("pause", name)

    def _set_clock(self, name: str, seconds: float) -> None:
        self._scene.fault("clock", name)
        self._nodes[name].jumped = int(seconds * 1e9)
        self._scene.history.met("wall clock jumped")
