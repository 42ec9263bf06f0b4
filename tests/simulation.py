"""A mesh in memory, for tests: see tools/simulating."""

from tools.simulating.world.network import BUSY, DISK, LATE, PATIENCE, SECRET, SPEED, End, Pipe
from tools.simulating.world.node import Disk, SimNetwork, SimNode, copy_of

__all__ = [
    "BUSY", "DISK", "LATE", "PATIENCE", "SECRET", "SPEED", "Disk", "End", "Pipe", "SimNetwork",
    "SimNode", "copy_of",
]  # fmt: skip
