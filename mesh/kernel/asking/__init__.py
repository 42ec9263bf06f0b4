"""Requests to other nodes on behalf of clients and peers: subscriptions, lookups and erasures."""
