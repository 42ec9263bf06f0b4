"""Queues: definitions, messages, consumers and selectors, and moves between nodes. No I/O, no clocks."""
