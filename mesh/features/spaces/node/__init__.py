"""The components that keep maps and counters."""
