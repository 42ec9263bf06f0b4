"""Sends to addresses: chosen where they are sent, given out where they are served, and replied to."""
