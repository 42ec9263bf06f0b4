"""Plays a script: sets up the mesh, runs each step at its time, heals all faults, and drains."""

from __future__ import annotations

import traceback
from pathlib import Path

from tools.simulator.history import History
from tools.simulator.script import Script
from tools.simulator.stage.company import Company
from tools.simulator.stage.disks import Disks
from tools.simulator.stage.drains import Drains
from tools.simulator.stage.ending import Ending
from tools.simulator.stage.machines import Machines
from tools.simulator.stage.queues import Queues
from tools.simulator.stage.rules import Rules
from tools.simulator.stage.scene import Scene
from tools.simulator.stage.services import Services
from tools.simulator.stage.sites import Sites
from tools.simulator.stage.spaces import Spaces
from tools.simulator.stage.strangers import Strangers
from tools.simulator.stage.transactions import Transactions
from tools.simulator.stage.visits import Visits
from tools.simulator.stage.wires import Wires
from tools.simulator.steps import Step
from tools.simulator.world.filed import ONE_IN, folder


class Stage:
    """A run of a script in its `scene`.

    Its files are in a folder until the run is closed.
    """

    def __init__(self, script: Script) -> None:
        self.script = script
        self.scene = scene = Scene(script)
        self.net, self.nodes = scene.net, scene.nodes
        self._folder = folder()
        self.net.files, self.net.is_filed = Path(self._folder.name), script.seed % ONE_IN == 0
        self._machines, self._strangers = Machines(scene), Strangers(scene)
        self._company, self._services, self._queues = Company(scene), Services(scene), Queues(scene)
        self._sites, self._transactions = Sites(scene), Transactions(scene)
        disks, wires, rules = Disks(scene, self._machines.start), Wires(scene), Rules(scene)
        visits = Visits(scene, self._machines.kill, self._machines.start)
        drains = Drains(scene, self._machines.start)
        self._spaces = Spaces(scene, self._company, self._machines.kill, self._machines.start)
        parts = (
            self._machines, disks, wires, rules, self._strangers, self._company, self._services,
            self._queues, self._sites, self._transactions, self._spaces, visits, drains,
        )  # fmt: skip
        self._does = {kind: does for part in parts for kind, does in part.steps.items()}

    def played(self) -> History:
        """Play the whole script, and return its history.

        An exception ends the run, and becomes the event `problem`.
        """
        try:
            self._play()
        except Exception as error:
            where = traceback.extract_tb(error.__traceback__)[-1]
            text = f"{type(error).__name__}: {error} ({where.filename.rpartition('/')[2]}:{where.lineno})"
            self.scene.tell("problem", text)
        self.close()
        return self.scene.history

    def close(self) -> None:
        """Remove everything from the real disk, and end all programs."""
        self._spaces.close()
        for node in self.nodes.values():
            node.let_go()
        self._strangers.let_go()
        self._folder.cleanup()

    def _play(self) -> None:
        for name in self.nodes:
            if name not in self.script.late:
                self._machines.start(name)
        for name, node in self.script.clients.items():
            self._company.come(name, node)
        for step in self.script.steps:
            self.net.at(step.at, lambda step=step: self.do(step))  # type: ignore[misc]
        self._sample()
        self.net.run(self.script.seconds)
        parts = (
            self._machines, self._strangers, self._company, self._services, self._queues, self._sites,
            self._transactions, self._spaces,
        )  # fmt: skip
        Ending(self.scene, *parts).play()

    def do(self, step: Step) -> None:
        if step.at < self.script.seconds:  # later ends are healed at the end
            self._does[step.kind](*step.args)

    def _sample(self) -> None:
        for node in self.nodes.values():
            if node.is_up and not node.is_stopped:
                node.observer.sample()
        self._services.sample()
        self._queues.sample()
        self._sites.sample()
        self._spaces.sample()
        self.net.after(1.0, self._sample)
