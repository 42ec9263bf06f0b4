"""The fault simulator: the real core in an in-memory mesh whose wires, disks and clocks fail."""
