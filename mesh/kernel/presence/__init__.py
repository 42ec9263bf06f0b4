"""Presence: which names are served here and at other nodes, members of groups, and reports of changes."""
