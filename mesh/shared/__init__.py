"""Rows that all nodes of a mesh replicate and no node owns."""
