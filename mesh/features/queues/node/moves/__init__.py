"""Decides which messages of a queue move between nodes: by demand, by a drain, and on request."""
