"""Moves between the parts of a queue at several nodes: what goes where, and that it comes there once."""
