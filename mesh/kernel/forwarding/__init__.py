"""Forwarding of messages toward their masters and of the answers back; failed messages; dirty reads."""
