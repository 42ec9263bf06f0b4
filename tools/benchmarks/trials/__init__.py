"""Runs with busy, slow, stopped or killed nodes and clients."""
