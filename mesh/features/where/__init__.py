"""The feature that finds the nodes which have a name."""
