"""The calls of a client that concern queues."""
