"""Balancing strategies, which choose among the nodes that can accept a message."""
