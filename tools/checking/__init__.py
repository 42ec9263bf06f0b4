"""The checks of a change, which `tools/check` runs."""
