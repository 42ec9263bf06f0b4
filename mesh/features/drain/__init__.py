"""The feature that drains a node with its clients, so that it can be stopped without a loss."""
