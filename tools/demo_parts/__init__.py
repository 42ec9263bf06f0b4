"""The demo of `tools/demo`, and its programs."""
