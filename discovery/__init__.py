"""Who is there? Names, states and membership of nodes."""
