"""Reads the contents of queues, here and at other nodes, including unreachable ones."""
