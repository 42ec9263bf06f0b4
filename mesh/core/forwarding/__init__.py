"""Forwarding of messages toward their masters, and of the answers back; dead letters and dirty reads."""
