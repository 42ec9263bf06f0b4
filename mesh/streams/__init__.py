"""Numbered streams: sent, received, missing and duplicate messages."""
