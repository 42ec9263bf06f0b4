"""Delivery of messages that this node accepts as their master, or relays for other masters."""
