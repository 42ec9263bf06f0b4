"""Numbered streams: what was sent, what has arrived, what is missing, what comes twice."""
