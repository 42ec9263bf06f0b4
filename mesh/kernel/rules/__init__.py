"""Shared rows, mesh-wide rules and weights, and the values that a new master or a backup takes over."""
