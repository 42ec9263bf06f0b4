"""The state of a queue, and why its messages wait."""
