"""Routing rules with their filters and XPaths, and what follows: decisions, next hops and distances."""
