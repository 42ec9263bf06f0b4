"""Presence: which names are served here and at other nodes, and notifications of changes."""
