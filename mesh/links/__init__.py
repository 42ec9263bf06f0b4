"""How do we stand with one peer? The link's states, its back-off, and which of two connections stays."""
