"""Mechanisms that several features share: who waits for which answers."""
