"""Routing rules with their filters and XPaths, and the decisions, next hops and distances they imply."""
