"""What does a mesh have in common, that no node owns? Rows, of which each node has the same."""
