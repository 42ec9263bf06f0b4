"""Balancing strategies: each picks one node of several."""
