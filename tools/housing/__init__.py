"""Figures of the source: its size, its density and its dependencies; equal on every machine."""
