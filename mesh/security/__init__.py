"""Access to a mesh: keys, tokens, signatures, passwords, and rules signed by its admin."""
