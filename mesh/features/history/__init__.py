"""The feature that records the history."""
