"""The work of an operator in a week, with the commands of docs/upgrade.md and docs/backup.md."""

import shutil
from collections.abc import Sequence
from pathlib import Path

from tools.lab_parts.soak_crowd import SoakCrowd
from tools.lab_parts.week.count import Restored
from tools.lab_parts.week.nodes import data_of
from tools.running.nodes import Node, all_see
from tools.running.processes import Failed, Processes, Program

WELL = ("--disk", "1e6,1e3", "--lag", "5,10")  # a busy machine is not unhealthy
LIMIT = 120.0  # s that one command may take


class Operator:
    """The commands of an operator, for the nodes of a week."""

    def __init__(self, processes: Processes, nodes: Sequence[Node], crowd: SoakCrowd) -> None:
        self._processes, self._nodes, self._crowd = processes, nodes, crowd

    def mesh(self, name: str, *words: str, node: str = "") -> Program:
        """Run `mesh` with the arguments `words`. Raises: Failed, if the exit code is not 0."""
        asked = ("--url", node) if node else ()
        program = self._processes.run(f"{name}-{node}" if node else name, "mesh", *words, *asked, limit=LIMIT)
        if program.code:
            raise Failed(f"mesh {' '.join(words)} ended with {program.code}: {program.words()}")
        return program

    def is_well(self, node: Node) -> bool:
        program = self._processes.run(f"check-{node.name}", "mesh", "check", "--url", node.name, *WELL)
        return program.code == 0

    def upgrade(self, node: Node) -> None:
        """Stop a node, start it as this release, and wait until it is well and all nodes see each other."""
        node.stop()
        node.inside = ()
        node.start()
        self.wait_for(node)

    def wait_for(self, node: Node) -> None:
        until = self._processes.until
        until(lambda: self.is_well(node), LIMIT, f"{node.name} was not well")
        until(lambda: all_see(self._processes, list(self._nodes)), LIMIT, "not all saw all")

    def backup_of(self, node: Node) -> Path:
        return self._processes.place / f"{node.name}.backup"

    def back_up(self, node: Node) -> int:
        """Make a backup of a running node, check it, and return its size in bytes."""
        path = self.backup_of(node)
        self.mesh("backup", "backup", "create", str(path), node=node.name)
        self.mesh(f"checked-{node.name}", "backup", "check", str(path))
        return path.stat().st_size

    def answered(self) -> dict[str, int]:
        """Return the highest answered number of each publisher, as far as recorded; 0 without an answer."""
        books = self._crowd.all_said()
        return {name: max((last for _, last in book["answered"]), default=0) for name, book in books.items()}

    def lose_and_restore(self, node: Node, backed_up: dict[str, int]) -> Restored:
        """Kill a node, delete its directory, and restore it from its backup."""
        node.kill()
        data = data_of(self._processes, node.name)
        shutil.rmtree(data)
        self._processes.until(self._crowd.rewritten(), LIMIT, "a client wrote no record")
        since = {name: (backed_up[name] + 1, last) for name, last in self.answered().items()}
        restored = Restored(node.name, since, dict(self._crowd.all_came()))
        self.mesh("restore", "backup", "restore", str(self.backup_of(node)))
        node.start("--accept-rollback")
        self.wait_for(node)
        return restored
