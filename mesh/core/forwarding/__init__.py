"""Forwarding of messages towards their masters, and of the answers back."""
