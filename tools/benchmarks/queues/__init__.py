"""Queues beside those of peers: producers, consumers, and counts."""
