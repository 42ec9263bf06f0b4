"""What a node says over HTTP, on its own machine: whether it lives, whether it serves, and its metrics."""
