"""Snapshots: a record of the mesh on disk for later analysis, as lines in segments with a retention."""
