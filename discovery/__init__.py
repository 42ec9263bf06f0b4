"""Discovery of nodes: membership, gossip about node states, and multicast DNS."""
