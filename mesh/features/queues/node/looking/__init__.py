"""Reports the contents of queues: here, at reachable nodes, and as last known at unreachable ones."""
