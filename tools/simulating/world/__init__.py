"""What does the real core run on here? Wires, disks, clocks and processes that fail."""
