"""Clients and peers as subscribers: sessions, subscriptions, inboxes, and items on data connections."""
