"""What this node writes down of itself, and learns from it."""
