"""Who serves what, here and at other nodes, for those who want to know."""
