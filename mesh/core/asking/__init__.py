"""Requests to other nodes on behalf of clients: subscriptions, lookups and erasures."""
