"""Messages and requests to addresses and groups: choice of nodes, assignment to consumers, and replies."""
