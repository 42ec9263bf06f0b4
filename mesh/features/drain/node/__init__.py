"""The components that empty a node before it stops."""
