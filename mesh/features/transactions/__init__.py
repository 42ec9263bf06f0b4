"""Transactions: settlements and messages that a node accepts all together, or refuses all together."""
