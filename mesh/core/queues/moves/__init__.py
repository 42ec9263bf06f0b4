"""Moves of messages between the parts of a queue at several nodes."""
