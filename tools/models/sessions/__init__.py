"""Exhaustive models of sessions that move between nodes: `python -m tools.models.sessions`."""
