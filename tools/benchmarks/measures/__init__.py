"""Measurements of speed and cost: one file for each part of tools/bench that measures."""
