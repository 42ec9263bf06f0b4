"""Access to a mesh: keys, tokens, signatures and passwords."""
