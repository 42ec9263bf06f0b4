"""The feature that explains the state of a node, topic, message or other object."""
