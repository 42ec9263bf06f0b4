"""Names, states and membership of nodes."""
