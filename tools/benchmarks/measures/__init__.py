"""Measurements of speed and cost for parts of tools/bench; other parts are in `trials`."""
