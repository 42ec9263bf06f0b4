"""A mesh in memory, for tests: see tools/simulating."""

from tools.simulating.world.mesh import SimNetwork, copy_of
from tools.simulating.world.network import BUSY, DISK, LATE, PATIENCE, SECRET, SPEED, End, Pipe
from tools.simulating.world.node import SimNode
from tools.simulating.world.volume import Disk

__all__ = [
    "BUSY", "DISK", "LATE", "PATIENCE", "SECRET", "SPEED", "Disk", "End", "Pipe", "SimNetwork",
    "SimNode", "copy_of",
]  # fmt: skip
