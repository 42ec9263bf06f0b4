"""Queues of Heronry and of other systems: producers, consumers, and counts."""
