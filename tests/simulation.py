"""The simulated mesh of tools/simulator, for tests."""

from tools.simulator.world.mesh import SimNetwork, copy_of
from tools.simulator.world.network import BUSY, DISK, LATE, PATIENCE, SECRET, SPEED, End, Pipe
from tools.simulator.world.node import SimNode
from tools.simulator.world.volume import Disk

__all__ = [
    "BUSY", "DISK", "LATE", "PATIENCE", "SECRET", "SPEED", "Disk", "End", "Pipe", "SimNetwork",
    "SimNode", "copy_of",
]  # fmt: skip
