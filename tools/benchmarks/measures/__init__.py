"""Measurements of speed and cost, one file for most parts of tools/bench."""
