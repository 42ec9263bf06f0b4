"""Checks a change: what `tools/check` runs."""
