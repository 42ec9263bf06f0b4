"""The feature of requests, addresses and groups."""
