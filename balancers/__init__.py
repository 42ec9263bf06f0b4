"""Whom to choose? Strategies that pick one node of several."""
