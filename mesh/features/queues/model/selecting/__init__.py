"""Selectors: expressions that choose messages."""
