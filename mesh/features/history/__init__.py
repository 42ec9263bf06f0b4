"""The feature that records the history of the mesh."""
