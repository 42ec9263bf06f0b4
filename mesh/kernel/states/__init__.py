"""States of nodes: gossip, signatures, and topics for clients."""
