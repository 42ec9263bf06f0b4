"""Consumers of a queue, their outstanding messages, and message groups."""
