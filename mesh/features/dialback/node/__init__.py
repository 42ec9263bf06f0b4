"""The node that asks for a dial, and the node that dials."""
