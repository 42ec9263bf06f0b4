"""Clients and peers as publishers and subscribers: sessions, subscriptions, inboxes, and items."""
