"""Messages and requests to addresses: choice of nodes, assignment to consumers, and replies."""
