"""Benchmarks of a running mesh: `tools/bench mesh`."""
