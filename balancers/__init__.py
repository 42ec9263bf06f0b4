"""Balancing strategies, which choose among the nodes that can take a message."""
