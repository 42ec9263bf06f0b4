"""The feature that explains why something is as it is."""
