"""Transfers of messages between nodes, each delivered once."""
