"""The simulated world below the real core: wires, disks, clocks and processes that fail."""
