"""Transfers of queued messages between nodes: outgoing pieces, incoming pieces, and their outcomes."""
