"""What becomes of the real core on wires, disks and clocks that fail: a mesh in memory, told by a seed."""
