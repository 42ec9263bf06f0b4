"""Mechanisms that several components share."""
